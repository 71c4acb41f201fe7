// How vigie itself is doing.
import { Dashboard } from "./dashboard";

export default function Itself() {
  return <Dashboard slug="itself" />;
}
