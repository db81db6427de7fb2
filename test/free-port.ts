/** Ports that stay a test's own while nobody listens on them. */
import { once } from "node:events"
import { createServer } from "node:net"

// Below the ports that the system gives to connections and to listeners on port 0, which would take one in between.
const lowest = 10_000
const ports = 20_000
let next = (process.pid * 61) % ports

/** A port of 127.0.0.1 that nobody listens on, another one at each call. */
export const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < ports; tries++) {
    const port = lowest + next
    next = (next + 1) % ports
    const probe = createServer().listen(port, "127.0.0.1")
    const free = await once(probe, "listening").then(
      () => true,
      () => false
    )
    if (!free) continue
    probe.close()
    await once(probe, "close")
    return port
  }
  throw new Error(`no port between ${lowest} and ${lowest + ports} is free`)
}
