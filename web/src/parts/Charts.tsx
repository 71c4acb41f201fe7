// The panels of a dashboard, with one cursor, one zoom and the same events through all of them.
import type { ComponentChildren } from "preact";
import { useJson } from "../lib/api";
import { useDashboard } from "../lib/dashboards";
import { useRange } from "../lib/heartbeat";
import type { Range } from "../lib/time";
import type { Dashboard, EventRow, Panel } from "../lib/types";
import { type Choice, useVariables, type Values } from "../lib/variables";
import { Waiting } from "./Absent";
import { PanelView } from "./PanelView";
import { Variables } from "./Variables";

const EVENTS_MOST = 200;

/** The charts of one of the page's own pages, such as page-node; `fixed` gives its variables, `about` its events. */
export function Charts({
  slug,
  fixed = {},
  about,
  happened,
}: {
  slug: string;
  fixed?: Values;
  about?: Record<string, string>;
  happened?: EventRow[];
}) {
  const { data, error } = useDashboard(slug);
  if (!data) return <Waiting error={error} what="The charts" />;
  return (
    <Sections
      dashboard={data}
      fixed={fixed}
      {...(about ? { about } : {})}
      {...(happened ? { happened } : {})}
    />
  );
}

export function Sections({
  dashboard,
  fixed = {},
  about,
  happened,
  headed = false,
}: {
  dashboard: Dashboard;
  fixed?: Values;
  about?: Record<string, string>;
  happened?: EventRow[]; // instead of what is asked `about`
  headed?: boolean;
}) {
  const range = useRange();
  const { choices, values } = useVariables(dashboard.variables, fixed, range);
  const asked = useEvents(range, happened ? null : (about ?? aboutOf(choices)));
  const events = happened ?? asked;
  if (!values) return <Waiting error={null} what="What may be chosen" />;
  return (
    <>
      <Variables choices={choices} />
      {dashboard.sections.map((section) => (
        <Part key={section.title} title={section.title} headed={headed}>
          <div class={`charts ${layout(section.panels)}`}>
            {section.panels.map((panel) => (
              <PanelView key={panel.title} panel={panel} values={values} range={range} events={events} />
            ))}
          </div>
        </Part>
      ))}
    </>
  );
}

/** Return how panels stand side by side: so that no row of them has a hole. */
function layout(panels: Panel[]): string {
  const numbers = panels.every(({ kind }) => kind === "number");
  if (numbers && panels.length < 7) return "few";
  const four = panels.length % 4 === 0 && !panels.some(({ wide }) => wide);
  return [four && "four", numbers && "many"].filter(Boolean).join(" ");
}

/** A section; what is called "More" on a page that has no headings is shown when asked for. */
function Part({ title, headed, children }: { title: string; headed: boolean; children: ComponentChildren }) {
  if (!headed && title === "More") {
    return (
      <details class="section folded">
        <summary>More charts</summary>
        {children}
      </details>
    );
  }
  return (
    <section class="section">
      {headed && <h2>{title}</h2>}
      {children}
    </section>
  );
}

/** Return whose events belong to the charts: those of the node that was chosen. */
function aboutOf(choices: Choice[]): Record<string, string> {
  const { variable, chosen, options } = choices.find(({ variable }) => variable.name === "node") ?? {};
  const node = chosen?.length === 1 ? chosen[0] : variable?.multi ? "" : options?.[0];
  return node ? { node } : {};
}

/** Return what happened in a range, for the ticks of the charts; null asks nothing. */
export function useEvents(range: Range, about: Record<string, string> | null = {}): EventRow[] {
  const rounded = (ms: number) => Math.floor(ms / 60_000) * 60;
  const parameters = new URLSearchParams({
    ...about,
    since: String(rounded(range.from)),
    until: String(rounded(range.to) + 60),
    limit: String(EVENTS_MOST),
  });
  const { data } = useJson<{ events: EventRow[] }>(about && range.to ? `api/events?${parameters}` : null);
  return data?.events ?? NONE;
}

const NONE: EventRow[] = [];
