// The operator's dashboards, with one description each.
import { useOnce } from "../lib/api";
import { link, path } from "../lib/url";
import { Waiting } from "../parts/Absent";

interface Listed {
  dashboards: { slug: string; title: string; description: string }[];
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
        {data.dashboards.map(({ slug, title, description }) => (
          <li key={slug}>
            <a href={link(path("dashboard", slug))}>
              <strong>{title}</strong>
              <span>{description}</span>
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}
