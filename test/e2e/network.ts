/** A network that can be cut: a port that forwards connections to the server, or refuses them. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { freePort } from "../free-port.ts"

export interface Network {
  /** Address of the server through this network. */
  readonly url: string
  readonly cut: () => void
  readonly mend: () => void
  readonly close: () => void
}

/** Forwards to a port of this machine; connected at first. */
export const networkTo = async (server_port: number): Promise<Network> => {
  const port = await freePort()
  const open = new Set<Socket>()
  let mended = true
  const passed = (near: Socket): void => {
    // While cut, the port stays open, so that no other server takes it.
    if (!mended) return void near.destroy()
    const far = connect(server_port, "127.0.0.1")
    for (const [socket, other] of [
      [near, far],
      [far, near]
    ] as const) {
      open.add(socket)
      socket
        .on("error", () => other.destroy())
        .on("close", () => {
          open.delete(socket)
          other.destroy()
        })
      socket.pipe(other)
    }
  }
  const listener = createServer(passed).listen(port, "127.0.0.1")
  await once(listener, "listening")
  return {
    url: `http://127.0.0.1:${port}`,
    mend: () => {
      mended = true
    },
    cut: () => {
      mended = false
      for (const socket of open) socket.destroy()
    },
    close: () => {
      listener.close()
      for (const socket of open) socket.destroy()
    }
  }
}
