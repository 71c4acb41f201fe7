// The health of vigie: its server and agents.
import { Dashboard } from "./dashboard";

export default function VigieHealth() {
  return <Dashboard slug="itself" />;
}
