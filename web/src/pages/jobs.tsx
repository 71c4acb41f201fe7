// Jobs: which run, which wait and why, which are over; what each makes of its GPUs, and what was found.
import { usePage } from "../lib/api";
import type { JobRow, JobsPage } from "../lib/types";
import { Absent, Waiting } from "../parts/Absent";
import { JobTable } from "../parts/JobTable";
import { PageHeader } from "../parts/PageHeader";
import { Tabs, useTab } from "../parts/Tabs";
import { Verdict } from "../parts/Verdict";

const TABS = [
  { key: "running", label: "Running" },
  { key: "waiting", label: "Waiting" },
  { key: "finished", label: "Finished" },
];
const NONE: Record<string, string> = {
  running: "No job runs now.",
  waiting: "No job waits.",
  finished: "No job has finished in the time that is kept.",
};

export default function Jobs() {
  const state = useTab(TABS, "state");
  const { data, error } = usePage<JobsPage>("jobs", { state });
  return (
    <div class="page jobs">
      <PageHeader title="Jobs" command={`vigie jobs --state ${state}`} />
      {data && <Verdict verdict={data.verdict} />}
      <Tabs tabs={TABS} name="state">
        {data ? <List jobs={data.jobs} state={state} /> : <Waiting error={error} what="The list of jobs" />}
      </Tabs>
    </div>
  );
}

function List({ jobs, state }: { jobs: JobRow[]; state: string }) {
  return jobs.length ? <JobTable jobs={jobs} state={state} /> : <Absent>{NONE[state]}</Absent>;
}
