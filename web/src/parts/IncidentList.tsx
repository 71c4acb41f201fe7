// What needs somebody: how bad, what, where, since when, whom it affects, what to do.
import { useNow } from "../lib/heartbeat";
import { ago, clock, exact } from "../lib/time";
import type { IncidentRow as Item } from "../lib/types";
import { link, path } from "../lib/url";
import { Commands } from "./Commands";
import { LookInsideFinding } from "./LookInside";
import { StateIcon } from "./StateIcon";

export function IncidentList({ items, more = 0, calm }: { items: Item[]; more?: number; calm: string }) {
  if (!items.length) return <p class="calm">{calm}</p>;
  return (
    <>
      <ul class="incidents">
        {items.map((item) => (
          <One key={item.id} item={item} />
        ))}
      </ul>
      {more > 0 && (
        <p class="more">
          <a href={link("events")}>{`${more} more: all that was found, open and over`}</a>
        </p>
      )}
    </>
  );
}

function One({ item }: { item: Item }) {
  const now = useNow();
  const since = item.until_ms === null ? ago(item.since_ms, now) : `until ${clock(item.until_ms, now)}`;
  return (
    <li class={item.severity}>
      <StateIcon state={item.severity} />
      <div>
        <a class="summary" href={link(item.link)}>
          {item.summary}
        </a>
        <p class="meta">
          <Where where={item.where} />
          <time title={exact(item.since_ms)}>{since}</time>
          <Affects affects={item.affects} />
        </p>
        {item.action && (
          <p class="action">
            <Commands text={item.action} />
          </p>
        )}
        {item.until_ms === null && (
          <LookInsideFinding finding={item.finding} job={item.affects.jobs[0]?.id} />
        )}
      </div>
    </li>
  );
}

function Where({ where }: { where: Item["where"] }) {
  const { node, gpu, device } = where;
  if (!node) return null;
  return (
    <span>
      <a href={link(path("node", node))}>{!gpu && device ? `${node} ${device}` : node}</a>
      {gpu && (
        <>
          {":"}
          <a href={link(path("gpu", node, gpu))}>{gpu}</a>
        </>
      )}
    </span>
  );
}

function Affects({ affects }: { affects: Item["affects"] }) {
  const jobs = affects.jobs.slice(0, 3);
  return (
    <>
      {jobs.map((job) => (
        <a key={job.id} href={link(path("job", job.id))}>
          {job.name || `job ${job.id}`}
        </a>
      ))}
      {affects.jobs.length > 3 && <span>{affects.jobs.length - 3} more jobs</span>}
      {affects.users.slice(0, 3).map((user) => (
        <a key={user} href={link(path("user", user))}>
          {user}
        </a>
      ))}
      {affects.gpus > 0 && <span>{affects.gpus === 1 ? "1 GPU" : `${affects.gpus} GPUs`}</span>}
    </>
  );
}
