// What needs somebody: how bad, what, where, since when, whom it hits, what to do.
import { useNow } from "../lib/live";
import { ago, clock, exact } from "../lib/time";
import type { Attention as Item } from "../lib/types";
import { link, path } from "../lib/url";
import { Commands } from "./Commands";
import { Mark } from "./Mark";

export function AttentionList({ items, more = 0, calm }: { items: Item[]; more?: number; calm: string }) {
  if (!items.length) return <p class="calm">{calm}</p>;
  return (
    <>
      <ul class="attention">
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
      <Mark state={item.severity} />
      <div>
        <a class="what" href={link(item.link)}>
          {item.what}
        </a>
        <p class="meta">
          <Where where={item.where} />
          <time title={exact(item.since_ms)}>{since}</time>
          <Hits hits={item.hits} />
        </p>
        {item.do && (
          <p class="do">
            <Commands text={item.do} />
          </p>
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

function Hits({ hits }: { hits: Item["hits"] }) {
  const jobs = hits.jobs.slice(0, 3);
  return (
    <>
      {jobs.map((job) => (
        <a key={job.id} href={link(path("job", job.id))}>
          {job.name || `job ${job.id}`}
        </a>
      ))}
      {hits.jobs.length > 3 && <span>{hits.jobs.length - 3} more jobs</span>}
      {hits.users.slice(0, 3).map((user) => (
        <a key={user} href={link(path("user", user))}>
          {user}
        </a>
      ))}
      {hits.gpus > 0 && <span>{hits.gpus === 1 ? "1 GPU" : `${hits.gpus} GPUs`}</span>}
    </>
  );
}
