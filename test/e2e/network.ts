/** A network that can be cut: a port that forwards connections to the server, or refuses them. */
import { once } from "node:events"
import { connect, createServer, type Server, type Socket } from "node:net"
import { freePort } from "./processes.ts"

export interface Network {
  /** The server's address as seen through it. */
  readonly url: string
  readonly cut: () => void
  readonly mend: () => Promise<void>
}

/** Towards a port of this machine; mended to begin with. */
export const networkTo = async (server_port: number): Promise<Network> => {
  const port = await freePort()
  const open = new Set<Socket>()
  let listener: Server | undefined
  const passed = (near: Socket): void => {
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
  const mend = async (): Promise<void> => {
    if (listener !== undefined) return
    listener = createServer(passed).listen(port, "127.0.0.1")
    await once(listener, "listening")
  }
  await mend()
  return {
    url: `http://127.0.0.1:${port}`,
    mend,
    cut: () => {
      listener?.close()
      listener = undefined
      for (const socket of open) socket.destroy()
    }
  }
}
