// What the server answers under /api/pages, as its OpenAPI document describes it. Null is absent, never 0.

export type State = "ok" | "warning" | "critical" | "unknown";

export interface Verdict {
  state: State;
  sentence: string;
}

export interface Num {
  key: string;
  label: string;
  value: number | null;
  of: number | null;
  unit: string;
  state: State;
  query: string;
  reason: string;
}

export interface Incident {
  id: string;
  finding: string;
  severity: "critical" | "warning" | "info";
  summary: string;
  nodes: string[];
  where: Record<string, string>;
  since_ms: number;
  until_ms: number | null;
  affects: { jobs: { id: string; name: string }[]; users: string[]; gpus: number };
  action: string;
  link: string;
}

export interface Holder {
  kind: string;
  id: string;
  name: string;
  user: string;
}

export interface Cell {
  node: string;
  gpu: string;
  uuid: string;
  model: string;
  vendor: string;
  holder: Holder | null;
  working: boolean | null;
  busy: number | null;
  sm: number | null;
  memory: number | null;
  memory_bytes: number | null;
  memory_total_bytes: number | null;
  power: number | null;
  power_limit: number | null;
  temperature: number | null;
  clock: number | null;
  throttled: string[];
  health: "ok" | "warning" | "critical" | "lost";
  why: string;
  mig: { instance: string; profile: string; holder: Holder | null }[];
}

export interface JobLadder {
  held: number;
  process: number | null;
  busy: number | null;
  sm: number | null;
  tensor: number | null;
}

export interface JobRow {
  id: string;
  name: string;
  user: string;
  account: string;
  partition: string;
  state: "running" | "waiting" | "finished";
  reason: string;
  queued_ms: number | null;
  start_ms: number | null;
  end_ms: number | null;
  limit_seconds: number | null;
  nodes: string[];
  gpus: string[];
  wanted_gpus: number | null;
  ladder: JobLadder | null;
  badge: string;
  why: string;
}

export interface Slurm {
  state: string;
  reason: string;
}

export interface NodeRow {
  name: string;
  state: string;
  why: string;
  labels: Record<string, string>;
  slurm: Slurm | null;
  cpu: number | null;
  memory: number | null;
}

export interface ClusterNode extends NodeRow {
  cells: Cell[];
}

export interface ClusterPage {
  at_ms: number;
  simulated: boolean;
  verdict: Verdict;
  numbers: Num[];
  incidents: Incident[];
  incidents_more: number;
  nodes: ClusterNode[];
  jobs: JobRow[];
  waiting: JobRow[];
}

export interface Session {
  user: string;
  role: string;
  simulated: boolean;
  version: string;
  privacy: string;
  home: string;
}

export interface Found {
  kind: "node" | "gpu" | "job" | "user" | "event" | "metric" | "page";
  name: string;
  note: string;
  link: string;
}

export interface Happening {
  id: number;
  node: string;
  kind: string;
  begin_ms: number;
  end_ms: number | null;
  what: string;
  where: Record<string, string>;
  severity: string;
}

export interface Query {
  promql: string;
  legend: string;
  unit?: string; // where it is another than the panel's
  state?: Threshold["state"] | ""; // what its lines tell of is trouble
}

export interface Threshold {
  value: number;
  state: "warning" | "critical";
  below: boolean;
}

export interface Panel {
  title: string;
  why: string;
  queries: Query[];
  unit: string;
  kind: "lines" | "band" | "number" | "table" | "bars" | "heat";
  thresholds: Threshold[];
  floor: number | null;
  ceiling: number | null;
  wide: boolean;
  needs: string;
  stack: boolean;
}

export interface Variable {
  name: string;
  label: string;
  metric: string;
  by: string;
  choices: string[];
  multi: boolean;
  default: string;
  optional: boolean;
}

export interface Dashboard {
  slug: string;
  title: string;
  sentence: string;
  sections: { title: string; panels: Panel[] }[];
  variables: Variable[];
  listed: boolean;
}
