// A dashboard: its variables, and its panels section by section.
import { useDashboard } from "../lib/dashboards";
import { link } from "../lib/url";
import { Waiting } from "../parts/Absent";
import { Sections } from "../parts/Charts";

export default function DashboardPage({ parts }: { parts: string[] }) {
  return <Dashboard slug={parts[0] ?? ""} />;
}

export function Dashboard({ slug }: { slug: string }) {
  const { data, error } = useDashboard(slug);
  if (!data) return <Waiting error={error} what="The dashboard" />;
  return (
    <div class="page" key={slug}>
      <div class="heading">
        <p class="above">
          <a href={link("dashboards")}>Dashboards</a>
        </p>
        <h1>{data.title}</h1>
        <p class="calm">{data.description}</p>
      </div>
      <Sections dashboard={data} headed />
    </div>
  );
}
