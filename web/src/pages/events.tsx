// What happened: when, what, where, whom it hit, what to do, and whether it is over.
import { usePage } from "../lib/api";
import { useNow } from "../lib/heartbeat";
import { clock, exact, span } from "../lib/time";
import type { EventRow, IncidentRow, IncidentsPage } from "../lib/types";
import { go, here, link, path, usePlace } from "../lib/url";
import { Waiting } from "../parts/Absent";
import { Commands } from "../parts/Commands";
import { Happenings } from "../parts/EventTable";
import { PageHeader } from "../parts/PageHeader";
import { Select } from "../parts/Select";
import { StateIcon } from "../parts/StateIcon";
import { type Column, Table } from "../parts/Table";
import { Verdict } from "../parts/Verdict";

const SEVERITY = { "": "any", critical: "critical", warning: "warning", info: "for information" };
const OPEN = { "": "open and over", open: "open", over: "over" };

interface Filters {
  severity: keyof typeof SEVERITY;
  open: keyof typeof OPEN;
  node: string;
  text: string;
}

function useFilters(): Filters {
  const { query } = usePlace();
  const of = <T extends string>(name: string, known: Record<T, string>) =>
    ((query.get(name) ?? "") in known ? (query.get(name) ?? "") : "") as T;
  return {
    severity: of("severity", SEVERITY),
    open: of("open", OPEN),
    node: query.get("node") ?? "",
    text: (query.get("text") ?? "").toLowerCase(),
  };
}

export default function Events() {
  const { data, error } = usePage<IncidentsPage>("incidents");
  const filters = useFilters();
  return (
    <div class="page events">
      <PageHeader title="Events" command={command(filters)} />
      {data && <Verdict verdict={data.verdict} />}
      <Filter filters={filters} nodes={nodesOf(data?.incidents ?? [])} />
      <section class="card">
        <h2>What was found</h2>
        {data ? (
          <Found items={data.incidents.filter((item) => fits(item, filters))} />
        ) : (
          <Waiting error={error} what="What was found" />
        )}
      </section>
      <section class="card">
        <h2>As it was reported</h2>
        <Happenings
          asked={{ node: filters.node, severity: filters.severity }}
          fits={(event) => happened(event, filters)}
        />
      </section>
    </div>
  );
}

function command({ severity, node }: Filters): string {
  return `vigie events${severity && ` --severity ${severity}`}${node && ` --node ${node}`}`;
}

function nodesOf(items: IncidentRow[]): string[] {
  return [...new Set(items.flatMap(({ nodes }) => nodes))].sort();
}

function Filter({ filters, nodes }: { filters: Filters; nodes: string[] }) {
  const set = (name: string) => (value: string) => go(here({ [name]: value }), true);
  const known = Object.fromEntries([
    ["", "any"],
    ...[...new Set([...nodes, filters.node])].filter(Boolean).map((node) => [node, node]),
  ]);
  return (
    <div class="controls">
      <Select label="Severity" options={SEVERITY} value={filters.severity} choose={set("severity")} />
      <Select label="State" options={OPEN} value={filters.open} choose={set("open")} />
      <Select label="Node" options={known} value={filters.node} choose={set("node")} />
      <label class="choose">
        <span>Words</span>
        <input
          type="search"
          value={filters.text}
          onInput={(event) => set("text")(event.currentTarget.value)}
        />
      </label>
    </div>
  );
}

function fits(item: IncidentRow, { severity, open, node, text }: Filters): boolean {
  const state = item.until_ms === null ? "open" : "over";
  const where = Object.values(item.where);
  const words = [
    item.summary,
    item.action,
    ...where,
    ...item.affects.users,
    ...item.affects.jobs.map(({ name }) => name),
  ];
  return (
    (!severity || item.severity === severity) &&
    (!open || open === state) &&
    (!node || item.nodes.includes(node)) &&
    (!text || words.join(" ").toLowerCase().includes(text))
  );
}

function happened(event: EventRow, { open, text }: Filters): boolean {
  const state = event.end_ms === null ? "open" : "over";
  const words = [event.what, event.kind, ...Object.values(event.where)].join(" ").toLowerCase();
  return (!open || open === state) && (!text || words.includes(text));
}

function Found({ items }: { items: IncidentRow[] }) {
  const now = useNow();
  if (!items.length) return <p class="calm">Nothing that fits.</p>;
  return (
    <Table name="found" columns={columns(now)} rows={items} id={({ id, since_ms }) => `${id} ${since_ms}`} />
  );
}

function columns(now: number): Column<IncidentRow>[] {
  return [
    {
      key: "since",
      head: "When",
      by: (item) => item.since_ms,
      cell: (item) => (
        <span class="node-state">
          <StateIcon state={item.severity} />
          <time title={exact(item.since_ms)}>{clock(item.since_ms, now)}</time>
        </span>
      ),
    },
    {
      key: "open",
      head: "State",
      by: (item) => item.until_ms,
      cell: (item) => (item.until_ms === null ? "open" : <Over item={item} />),
    },
    {
      key: "what",
      head: "What, and what to do",
      block: true,
      cell: (item) => (
        <div class="wraps">
          <a class="summary" href={link(item.link)}>
            {item.summary}
          </a>
          {item.action && (
            <p class="aside">
              <Commands text={item.action} />
            </p>
          )}
        </div>
      ),
    },
    {
      key: "where",
      head: "Where",
      by: (item) => item.where.node ?? "",
      cell: (item) => <Where item={item} />,
    },
    { key: "affects", head: "Affects", cell: (item) => <Affects item={item} /> },
  ];
}

function Over({ item: { since_ms, until_ms } }: { item: IncidentRow }) {
  return (
    <span class="aside">
      over<span class="narrow">{` after ${span(((until_ms ?? since_ms) - since_ms) / 1000)}`}</span>
    </span>
  );
}

function Where({ item: { where } }: { item: IncidentRow }) {
  const { node, gpu, device, job } = where;
  if (node && gpu) return <a href={link(path("gpu", node, gpu))}>{`${node}:${gpu}`}</a>;
  if (node) return <a href={link(path("node", node))}>{device ? `${node} ${device}` : node}</a>;
  return job ? <a href={link(path("job", job))}>{`job ${job}`}</a> : null;
}

function Affects({ item: { affects } }: { item: IncidentRow }) {
  const [job] = affects.jobs;
  if (!job) return <span class="aside narrow">nobody</span>;
  return (
    <span class="wraps">
      <a href={link(path("job", job.id))}>{job.name || job.id}</a>
      {affects.jobs.length > 1 && ` and ${affects.jobs.length - 1} more`}
      <span class="aside">{` ${affects.users.join(", ")}${affects.gpus ? `, ${affects.gpus} GPUs` : ""}`}</span>
    </span>
  );
}
