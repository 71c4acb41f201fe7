// What the server answers for the pages below the Cluster page. Null is absent, never 0.
import type { Cell, Happening, Incident, JobRow, NodeRow, Num, State, Verdict } from "./types";

interface PageHead {
  at_ms: number;
  verdict: Verdict;
}

export interface JobsPage extends PageHead {
  jobs: JobRow[];
}

export interface Step {
  step: string;
  gpus: number | null;
  lost_gpu_hours: number | null;
  reason: string;
}

/** A line of a job's receipt. */
export interface Cost {
  label: string;
  value: number | null;
  unit: string;
  reason: string;
}

export const MEASURES = ["sm", "tensor", "memory", "power", "clock", "nvlink", "infiniband", "cpu"] as const;
export type Measure = (typeof MEASURES)[number];

export type Rank = { [measure in Measure]: number | null } & {
  rank: number | null;
  node: string;
  gpu: string;
  oddness: number | null;
  odd: string[];
};

export interface JobPage extends PageHead {
  numbers: Num[];
  job: JobRow;
  ladder: Step[];
  receipt: Cost[];
  ranks: Rank[];
  medians: Partial<Record<Measure, number | null>>;
  incidents: Incident[];
  free: { sentence: string } | null;
  missing: string;
}

export interface ListedNode extends NodeRow {
  gpus: number | null;
  present: number; // of them
  incidents: number;
  version: string;
}

export interface NodesPage extends PageHead {
  nodes: ListedNode[];
}

export interface SourceRow {
  source: string;
  state: "ok" | "unavailable" | "error" | "stale";
  reason: string;
  seconds: number | null;
}

export interface NodePage extends PageHead {
  numbers: Num[];
  node: NodeRow & {
    uptime_seconds: number | null;
    model: string;
    gpu_model: string;
    driver: string;
    kernel: string;
    agent: { version: string; cpu_ratio: number | null; rss_bytes: number | null };
    inventory: Record<string, string>;
    expected: Record<string, string>;
    missing: string[];
  };
  cells: Cell[];
  who: { jobs: JobRow[]; containers: Thing[]; environments: Thing[]; processes: Process[] };
  sources: SourceRow[];
  incidents: Incident[];
}

/** A container or an environment, and the GPUs that it holds. */
export interface Thing {
  name: string;
  user?: string;
  node?: string;
  image?: string;
  from_ms: number;
  gpus: string[];
}

export interface Process {
  gpu: string;
  pid: string;
  gpu_memory_bytes: number;
}

export interface Held {
  kind: string;
  id: string;
  name: string;
  user: string;
  from_ms: number;
  to_ms: number | null;
}

export interface HealthFact {
  label: string;
  value: number | string | null;
  unit: string;
  state: State;
  why: string;
}

export interface GpuPage extends PageHead {
  numbers: Num[];
  cell: Cell;
  info: Record<string, string | number | null>;
  holders: Held[];
  health: { xids: Happening[]; facts: HealthFact[] };
  siblings: Cell[];
  ranks: Cell[];
  incidents: Incident[];
}

export interface UserRow {
  user: string;
  held: number;
  working: number | null;
  idle: number | null;
  waiting: number;
  gpu_hours: number | null;
}

export interface UsersPage extends PageHead {
  users: UserRow[];
}

export interface UserPage extends PageHead {
  numbers: Num[];
  cells: Cell[];
  idle: { summary: string; command: string; cells: Cell[] }[];
  jobs: JobRow[];
  days: { day: string; held: number | null; worked: number | null }[];
  environments: Thing[];
  containers: Thing[];
  incidents: Incident[];
}

export interface IncidentsPage extends PageHead {
  incidents: Incident[];
}
