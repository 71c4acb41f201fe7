// What happened, as it was reported: when, how bad, what, where, and whether it is over.
import { useJson } from "../lib/api";
import { useHeartbeat, useNow } from "../lib/heartbeat";
import { clock, exact, span } from "../lib/time";
import type { EventRow } from "../lib/types";
import { link, path } from "../lib/url";
import { Absent, Waiting } from "./Absent";
import { StateIcon } from "./StateIcon";
import { type Column, Table } from "./Table";

export interface Asked {
  node?: string;
  kind?: string;
  severity?: string;
  since?: string;
  until?: string;
}

const MAX_EVENTS = 200;

export function useHappenings(asked: Asked): { events: EventRow[] | null; error: Error | null } {
  const parameters = new URLSearchParams({ limit: String(MAX_EVENTS) });
  for (const [name, value] of Object.entries(asked)) if (value) parameters.set(name, value);
  const { now, lost } = useHeartbeat();
  const { data, error } = useJson<{ events: EventRow[] }>(
    `api/events?${parameters}`,
    `${now} ${lost === null}`,
  );
  return { events: data?.events ?? null, error };
}

export function Happenings({ asked, fits }: { asked: Asked; fits?: (event: EventRow) => boolean }) {
  const { events, error } = useHappenings(asked);
  if (!events) return <Waiting error={error} what="What happened" />;
  const shown = fits ? events.filter(fits) : events;
  return <EventTable events={shown} />;
}

export function EventTable({ events }: { events: EventRow[] }) {
  const now = useNow();
  if (!events.length) return <Absent>Nothing has been reported of it.</Absent>;
  return <Table name="events" columns={columns(now)} rows={events} id={({ id }) => String(id)} />;
}

function columns(now: number): Column<EventRow>[] {
  return [
    {
      key: "when",
      head: "When",
      by: (event) => event.begin_ms,
      cell: (event) => (
        <span class="node-state">
          <StateIcon state={event.severity} />
          <time title={exact(event.begin_ms)}>{clock(event.begin_ms, now)}</time>
        </span>
      ),
    },
    { key: "what", head: "What", block: true, cell: (event) => <span class="wraps">{event.what}</span> },
    { key: "where", head: "Where", by: (event) => event.node, cell: (event) => <Where event={event} /> },
    {
      key: "kind",
      head: "Kind",
      narrow: true,
      by: (event) => event.kind,
      cell: (event) => <span class="aside">{event.kind}</span>,
    },
    {
      key: "over",
      head: "Lasted",
      narrow: true,
      cell: (event) =>
        event.end_ms === null ? "" : <span>{span((event.end_ms - event.begin_ms) / 1000)}</span>,
    },
  ];
}

function Where({ event }: { event: EventRow }) {
  const { gpu, device } = event.where;
  const at = { at: event.begin_ms };
  return gpu ? (
    <a href={link(path("gpu", event.node, gpu), at)}>{`${event.node}:${gpu}`}</a>
  ) : (
    <a href={link(path("node", event.node), at)}>{device ? `${event.node} ${device}` : event.node}</a>
  );
}
