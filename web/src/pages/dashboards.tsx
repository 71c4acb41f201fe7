// The operator's dashboards, with one sentence each.
import { useOnce } from "../lib/api";
import { link, path } from "../lib/url";
import { Waiting } from "../parts/Absent";

interface Listed {
  dashboards: { slug: string; title: string; sentence: string }[];
}

export default function Dashboards() {
  const { data, error } = useOnce<Listed>("api/dashboards");
  if (!data) return <Waiting error={error} what="The list of dashboards" />;
  return (
    <div class="page">
      <h1>Dashboards</h1>
      <p class="calm">
        The same panels that <code>vigie publish</code> writes for Grafana.
      </p>
      <ul class="listing">
        {data.dashboards.map(({ slug, title, sentence }) => (
          <li key={slug}>
            <a href={link(path("dashboard", slug))}>
              <strong>{title}</strong>
              <span>{sentence}</span>
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}
