// Written by `make docs` from the declared routes; edit those instead. Null is absent, never 0.

export const WEB_PAGES = [
  { name: "", title: "Cluster", menu: "", tool: false },
  { name: "jobs", title: "Jobs", menu: "", tool: false },
  { name: "job", title: "", menu: "jobs", tool: false },
  { name: "nodes", title: "Nodes", menu: "", tool: false },
  { name: "node", title: "", menu: "nodes", tool: false },
  { name: "gpu", title: "", menu: "nodes", tool: false },
  { name: "users", title: "Users", menu: "", tool: false },
  { name: "user", title: "", menu: "users", tool: false },
  { name: "events", title: "Events", menu: "", tool: false },
  { name: "traces", title: "Traces", menu: "", tool: false },
  { name: "trace", title: "", menu: "traces", tool: false },
  { name: "dashboards", title: "Dashboards", menu: "", tool: true },
  { name: "dashboard", title: "", menu: "dashboards", tool: false },
  { name: "explore", title: "Explore", menu: "", tool: true },
  { name: "vigie", title: "vigie health", menu: "", tool: true },
];

/** The node, and the key that its agent has to show. */
export interface AddedNode {
  added: string;
  key: string;
}

export interface AgentUsage {
  version: string;
  cpu_ratio: number | null;
  rss_bytes: number | null;
}

export interface Allocation {
  kind: string;
  id: string;
  name: string;
  user: string;
  from_ms: number;
  to_ms: number | null;
}

/** An error, as Prometheus spells it. */
export interface ApiError {
  status: "error";
  errorType: string;
  error: string;
}

/** Bindings; `next` is there while there is more. */
export interface BindingList {
  bindings: BindingRow[];
  next?: string;
}

export interface BindingRow {
  id: number;
  node: string;
  resource: string;
  gpu: string;
  kind: string;
  holder: string;
  user: string;
  from_ms: number;
  to_ms: number | null;
  end: string;
  source: string;
  facts: Record<string, string>;
}

export interface ClusterNode {
  name: string;
  state: string;
  why: string;
  labels: Record<string, string>;
  slurm: SlurmState | null;
  cpu: number | null;
  memory: number | null;
  cells: GpuCell[];
}

/** The cluster: what needs attention, how much is used, every GPU, every job. */
export interface ClusterPage {
  at_ms: number;
  verdict: Verdict;
  incidents: IncidentRow[];
  unfinished: boolean;
  numbers: Stat[];
  simulated: boolean;
  incidents_more: number;
  nodes: ClusterNode[];
  jobs: JobRow[];
  waiting: JobRow[];
  missing: string;
  errors: Record<string, string>;
}

/** The node's reply. */
export interface CommandOutput {
  node: string;
  said: string;
}

export interface Credentials {
  name: string;
  password: string;
}

export interface Dashboard {
  slug: string;
  title: string;
  description: string;
  sections: Section[];
  variables: Variable[];
  listed: boolean;
}

/** The dashboards, by title. */
export interface DashboardList {
  dashboards: DashboardSummary[];
}

export interface DashboardSummary {
  slug: string;
  title: string;
  description: string;
}

/** Events; `next` is there while there is more, `last` is the newest number. */
export interface EventList {
  events: EventRow[];
  last: number;
  next?: string;
}

export interface EventRow {
  id: number;
  node: string;
  kind: string;
  begin_ms: number;
  end_ms: number | null;
  what: string;
  where: Record<string, string>;
  severity: string;
}

/** The diagnoses, by name. */
export interface FindingList {
  findings: FindingSummary[];
}

export interface FindingSummary {
  name: string;
  severity: string;
  title: string;
  summary: string;
  action: string;
  when: string;
  events: string[];
}

/** What is free where a waiting job wants to run. */
export interface FreeGpus {
  partition: string;
  gpus: number;
  nodes: number;
  sentence: string;
}

/** A stretch without work, why, and what the program did meanwhile. */
export interface Gap {
  kind: string;
  start_seconds: number;
  seconds: number;
  during: string;
}

/** One GPU of the map. */
export interface GpuCell {
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
  mig: MigSlice[];
}

export interface GpuDetails {
  node: string;
  gpu: string;
  uuid: string;
  model: string;
  vendor: string;
  driver: string;
  pci_bus_id: string;
  processes: number | null;
}

export interface GpuHealth {
  xids: EventRow[];
  facts: HealthRow[];
}

/** A GPU: its health, and whom it was allocated to. */
export interface GpuPage {
  at_ms: number;
  verdict: Verdict;
  incidents: IncidentRow[];
  unfinished: boolean;
  numbers: Stat[];
  cell: GpuCell;
  info: GpuDetails;
  holders: Allocation[];
  health: GpuHealth;
  siblings: GpuCell[];
  ranks: GpuCell[];
}

export interface HealthRow {
  label: string;
  value: number | string | null;
  unit: string;
  state: "ok" | "warning" | "critical" | "unknown";
  why: string;
}

export interface Holder {
  kind: string;
  id: string;
  name: string;
  user: string;
}

/** What is held and not used, with the command that gives it back. */
export interface IdleHolder {
  summary: string;
  command: string;
  cells: GpuCell[];
}

/** The jobs, users and GPUs that an incident affects. */
export interface Impact {
  jobs: JobName[];
  users: string[];
  gpus: number;
}

export interface IncidentRow {
  id: string;
  finding: string;
  title: string;
  severity: "critical" | "warning" | "info";
  summary: string;
  where: Record<string, string>;
  nodes: string[];
  since_ms: number;
  until_ms: number | null;
  affects: Impact;
  action: string;
  link: string;
}

/** All that needs attention, or did in the last hours. */
export interface IncidentsPage {
  at_ms: number;
  verdict: Verdict;
  incidents: IncidentRow[];
  unfinished: boolean;
}

export interface JobFacts {
  name: string;
  id: string;
  user: string;
  state: string;
  queued_ms: number | null;
  start_ms: number;
  end_ms: number | null;
  nodes: string[];
  gpus: string[];
  source: string;
  facts: Record<string, string>;
}

/** How many GPUs of a job are held, have a process, are busy and compute. */
export interface JobLadder {
  held: number | null;
  process: number | null;
  busy: number | null;
  sm: number | null;
  tensor: number | null;
}

/** Jobs; `next` is there while there is more. */
export interface JobList {
  jobs: JobFacts[];
  next?: string;
}

export interface JobName {
  id: string;
  name: string;
}

/** A job: how it uses its GPUs, and which rank is odd. */
export interface JobPage {
  at_ms: number;
  verdict: Verdict;
  incidents: IncidentRow[];
  unfinished: boolean;
  numbers: Stat[];
  job: JobRow;
  ladder: LadderStep[];
  receipt: ReceiptLine[];
  ranks: RankRow[];
  medians: Record<string, number | null>;
  free: FreeGpus | null;
  missing: string;
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
  ladder: JobLadder;
  badge: string;
  why: string;
  array: string;
  restarts: number;
}

/** Jobs, with how much of what they hold works. */
export interface JobsPage {
  at_ms: number;
  verdict: Verdict;
  jobs: JobRow[];
}

export interface LadderStep {
  step: string;
  key: string;
  gpus: number | null;
  lost_gpu_hours: number | null;
  reason: string;
}

export interface ListedNode {
  name: string;
  state: string;
  why: string;
  labels: Record<string, string>;
  slurm: SlurmState | null;
  cpu: number | null;
  memory: number | null;
  gpus: number;
  present: number;
  incidents: number;
  version: string;
  missing: string[];
}

/** Who is signed in. */
export interface LoginResult {
  role: string;
  name: string;
}

export interface MigSlice {
  instance: string;
  profile: string;
  holder: Holder | null;
}

export interface NodeDetails {
  name: string;
  state: string;
  why: string;
  labels: Record<string, string>;
  slurm: SlurmState | null;
  cpu: number | null;
  memory: number | null;
  uptime_seconds: number | null;
  model: string;
  gpu_model: string;
  driver: string;
  kernel: string;
  agent: AgentUsage;
  addresses: string[];
  last_seen_ms: number | null;
  inventory: Record<string, string>;
  expected: Record<string, string>;
  missing: string[];
}

export interface NodeFacts {
  name: string;
  state: string;
  first_seen_ms: number;
  last_seen_ms: number;
  host: string;
  addresses: string[];
  version: string;
  cadence: number;
  listen: string;
  labels: Record<string, string>;
  inventory: Record<string, string>;
  expected: Record<string, string>;
  missing: string[];
  clock_offset_seconds: number;
  scrape_address: string;
  scrape_trouble: string;
}

/** A container or an environment on a node, and the GPUs that it holds. */
export interface NodeHolder {
  name: string;
  user: string;
  from_ms: number;
  image: string;
  gpus: string[];
}

export interface NodeHolders {
  jobs: JobRow[];
  containers: NodeHolder[];
  environments: NodeHolder[];
  processes: ProcessRow[];
}

/** Nodes, by name. */
export interface NodeList {
  nodes: NodeFacts[];
}

/** A node: its state, who is on it, and the state of its sources. */
export interface NodePage {
  at_ms: number;
  verdict: Verdict;
  incidents: IncidentRow[];
  unfinished: boolean;
  numbers: Stat[];
  node: NodeDetails;
  cells: GpuCell[];
  who: NodeHolders;
  sources: SourceRow[];
}

/** Every node in a row. */
export interface NodesPage {
  at_ms: number;
  verdict: Verdict;
  nodes: ListedNode[];
}

/** An operator or kernel: how often it ran, and for how long without what it called. */
export interface OperatorTime {
  name: string;
  count: number;
  total_seconds: number;
  self_seconds: number;
}

export interface Panel {
  title: string;
  why: string;
  queries: PanelQuery[];
  unit: string;
  kind: "lines" | "band" | "number" | "table" | "bars" | "heat";
  thresholds: Threshold[];
  floor: number | null;
  ceiling: number | null;
  wide: boolean;
  needs: string;
  stack: boolean;
}

export interface PanelQuery {
  promql: string;
  legend: string;
  unit: string;
  state: "" | "warning" | "critical";
}

export interface ProcessRow {
  gpu: string;
  pid: string;
  gpu_memory_bytes: number;
}

/** The verdict over all ranks that were traced together. */
export interface RankComparison {
  sentence: string;
  slow_rank: number | null;
  cause: string | null;
  excess_seconds: number | null;
  different_ranks: number[];
  peer_rank: number | null;
}

/** A rank of a job: what it measures, and in what it is far from the median. */
export interface RankRow {
  rank: number;
  node: string;
  gpu: string;
  sm: number | null;
  tensor: number | null;
  memory: number | null;
  power: number | null;
  clock: number | null;
  nvlink: number | null;
  infiniband: number | null;
  cpu: number | null;
  oddness: number;
  odd: string[];
  loss: number | null;
  step_seconds: number | null;
  samples_per_second: number | null;
  mfu: number | null;
}

/** One process of a session. */
export interface RankTrace {
  node: string;
  pid: number;
  inner_pid: number;
  uid: number;
  path: string;
  user: string;
  rank: number | null;
  state: string;
  reason: string;
  size_bytes: number;
  collected_bytes: number;
  note: string;
}

export interface ReceiptLine {
  label: string;
  value: number | null;
  unit: string;
  reason: string;
}

/** The node. */
export interface RemovedNode {
  removed: string;
}

export interface RemovedTrace {
  removed: string;
}

export interface SearchResult {
  kind: "node" | "gpu" | "job" | "user" | "event" | "metric" | "page";
  name: string;
  note: string;
  link: string;
}

/** At most 30, the best first. */
export interface SearchResults {
  found: SearchResult[];
}

export interface Section {
  title: string;
  panels: Panel[];
}

/** Who is signed in; `home` is the page to begin with. */
export interface Session {
  role: string;
  name: string;
  user: string;
  simulated: boolean;
  version: string;
  privacy: string;
  home: string;
}

/** Time that is counted under one kind only. */
export interface Share {
  kind: string;
  seconds: number;
  ratio: number;
}

export interface SlurmState {
  state: string;
  reason: string;
}

export interface SourceRow {
  source: string;
  state: "ok" | "unavailable" | "error" | "stale";
  reason: string;
  seconds: number | null;
}

/** One kind of work for a while, in seconds after the window's start. */
export type Span = [start: number, end: number, kind: string];

export interface StackAnswer {
  report: StackReport;
  processes: number;
}

/** One call; the file's name is short, as in `torch/utils/data/dataloader.py`. */
export interface StackFrame {
  function: string;
  file: string;
  line: number;
}

/** Ranks whose main threads run the same calls. */
export interface StackGroup {
  ranks: number[];
  calls: StackFrame[];
  activity: string;
  place: string;
  is_stuck: boolean;
  wait: string;
  workers: string[];
}

/** All ranks of a job, the smallest group first. */
export interface StackReport {
  sentence: string;
  shared_calls: StackFrame[];
  groups: StackGroup[];
  odd_ranks: number[];
  errors: string[];
}

/** Whose stacks to take: all processes of a job, or some of a node. */
export interface StackRequestBody {
  job?: string;
  nodes?: string[];
  pids?: number[];
}

/** A number at the head of a page; an absent one has a reason. */
export interface Stat {
  key: string;
  label: string;
  value: number | null;
  of: number | null;
  unit: string;
  state: "ok" | "warning" | "critical" | "unknown";
  query: string;
  reason: string;
}

/** Whole steps between two marks; the first and the last are cut by the window and left out. */
export interface StepTimes {
  mark: string;
  count: number;
  median_seconds: number;
  min_seconds: number;
  max_seconds: number;
}

export interface Threshold {
  value: number;
  state: "warning" | "critical";
  below: boolean;
}

/** A session, what its ranks differ in, and what each file says, by the rank's label. */
export interface TraceDetail {
  session: TraceSession;
  comparison: RankComparison | null;
  summaries: Record<string, TraceSummary>;
  has_perfetto: boolean;
}

/** Sessions, the newest first. */
export interface TraceList {
  traces: TraceSession[];
}

/** Whom to trace, for how long, and what to record. */
export interface TraceRequestBody {
  selection: TraceSelection;
  duration_ms?: number;
  iterations?: number;
  iteration_roundup?: number;
  switches?: TraceSwitches;
}

/** Whom to trace: all that is given must hold. */
export interface TraceSelection {
  job?: string;
  nodes?: string[];
  pids?: number[];
  user?: string;
  include_launchers?: boolean;
}

/** A request and how far it is. */
export interface TraceSession {
  id: string;
  owner: string;
  created_ms: number;
  selection: TraceSelection;
  switches: TraceSwitches;
  duration_ms: number;
  iterations: number;
  iteration_roundup: number;
  start_ms: number;
  state: string;
  ranks: RankTrace[];
  remarks: string[];
  verdict: string;
}

/** What one trace file says. Shares are exclusive; hidden communication overlaps compute. */
export interface TraceSummary {
  start_ns: number;
  window_seconds: number;
  has_gpu: boolean;
  shares: Share[];
  communication_seconds: number;
  communication_hidden_seconds: number;
  communication_slices: number[];
  operators: OperatorTime[];
  kernels: OperatorTime[];
  steps: StepTimes | null;
  gaps: Gap[];
  timeline: Span[];
  coverage_ratio: number;
  overhead_ratio: number;
  unfinished_events: number;
  bad_events: number;
  is_truncated: boolean;
  rank: number | null;
  world_size: number | null;
  trace_id: string;
  messages: string[];
}

/** What the profiler records beside operators; each makes the trace larger and the step slower. */
export interface TraceSwitches {
  record_shapes?: boolean;
  profile_memory?: boolean;
  with_stacks?: boolean;
  with_flops?: boolean;
  with_modules?: boolean;
}

/** A process that can be traced. */
export interface TrainerRow {
  node: string;
  pid: number;
  rank: number | null;
  user: string;
  job: string;
  is_busy: boolean;
}

/** Who can be traced now; problems say why there may be more that cannot. */
export interface TrainerRows {
  trainers: TrainerRow[];
  problems: string[];
}

/** The GPU-hours of a day that were held and worked. */
export interface UserDay {
  day: string;
  held: number;
  worked: number | null;
}

export interface UserFacts {
  user: string;
  gpus: string[];
  nodes: string[];
  jobs_running: number;
  jobs_waiting: number;
  gpu_hours: number;
}

/** A container or an environment of a user, and the GPUs that it holds. */
export interface UserHolder {
  name: string;
  node: string;
  from_ms: number;
  gpus: string[];
}

/** Users; `next` is there while there is more. */
export interface UserList {
  users: UserFacts[];
  next?: string;
}

/** A user: what they hold, what of it is idle, and what it cost. */
export interface UserPage {
  at_ms: number;
  verdict: Verdict;
  incidents: IncidentRow[];
  unfinished: boolean;
  numbers: Stat[];
  cells: GpuCell[];
  idle: IdleHolder[];
  jobs: JobRow[];
  days: UserDay[];
  environments: UserHolder[];
  containers: UserHolder[];
}

export interface UserRow {
  user: string;
  held: number;
  working: number;
  idle: number;
  waiting: number;
  gpu_hours: number;
}

/** Every user, with what each holds, uses and waits for. */
export interface UsersPage {
  at_ms: number;
  verdict: Verdict;
  users: UserRow[];
  missing: string;
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

/** What matters most, in words. */
export interface Verdict {
  state: "ok" | "warning" | "critical" | "unknown";
  sentence: string;
}
