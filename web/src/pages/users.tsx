// Users: who holds how much, and how much of it works.
import { usePage } from "../lib/api";
import type { UserRow, UsersPage } from "../lib/types";
import { formatValue } from "../lib/units";
import { link, path } from "../lib/url";
import { Absent, Missing, Waiting } from "../parts/Absent";
import { PageHeader } from "../parts/PageHeader";
import { type Column, Table } from "../parts/Table";
import { Verdict } from "../parts/Verdict";

const COLUMNS: Column<UserRow>[] = [
  {
    key: "user",
    head: "User",
    by: ({ user }) => user,
    cell: ({ user }) => <a href={link(path("user", user))}>{user}</a>,
  },
  count("held", "GPUs held"),
  count("working", "Working"),
  count("idle", "Held but idle"),
  count("waiting", "Pending jobs"),
  {
    key: "gpu_hours",
    head: "GPU-hours this week",
    right: true,
    by: ({ gpu_hours }) => gpu_hours,
    cell: ({ gpu_hours }) =>
      gpu_hours === null ? <Missing why="not known" /> : formatValue(Math.round(gpu_hours * 10) / 10, ""),
  },
];

function count(key: "held" | "working" | "idle" | "waiting", head: string): Column<UserRow> {
  return {
    key,
    head,
    right: true,
    by: (row) => row[key],
    cell: (row) => {
      const value = row[key];
      if (value === null) return <Missing why="no source gives this here" />;
      return key === "idle" && value > 0 ? <span class="value warning">{value}</span> : value;
    },
  };
}

export default function Users() {
  const { data, error } = usePage<UsersPage>("users");
  return (
    <div class="page users">
      <PageHeader title="Users" command="vigie who" />
      {data && <Verdict verdict={data.verdict} />}
      <section class="card">
        {!data ? (
          <Waiting error={error} what="The list of users" />
        ) : data.users.length ? (
          <Table name="users" columns={COLUMNS} rows={data.users} id={({ user }) => user} first="-held" />
        ) : (
          <Absent>
            Nobody holds a GPU, and no source says who does: it needs Slurm, containers or genv.
          </Absent>
        )}
      </section>
    </div>
  );
}
