// Says at once that the server is not heard, and goes by itself.
import { useHeartbeat } from "../lib/heartbeat";
import { exact } from "../lib/time";

export function ConnectionLost() {
  const { lost, now } = useHeartbeat();
  if (lost === null) return null;
  const as = now && Math.abs(now - lost) > 1000 ? ` What you see is as of ${exact(now)}.` : "";
  return (
    <p class="lost" role="alert">
      The connection to the server is lost.{as} Trying again.
    </p>
  );
}
