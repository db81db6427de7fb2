/** Ports that stay reserved for a test while nothing listens on them. */
import { once } from "node:events"
import { createServer } from "node:net"

// Below the ports the system assigns to connections and to port 0, which could take one meanwhile.
const lowest = 10_000
const ports = 20_000
let next = (process.pid * 61) % ports

/** A free port of 127.0.0.1, another one at each call. */
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
