/**
 * Keeps deliveries out of the internal network: no private, loopback, link-local or otherwise reserved address, in any
 * notation. Checked when a URL is saved and again at every connection, by the address actually connected to, so that a
 * name resolving differently by then gains nothing.
 */
import * as dns from "node:dns"
import * as http from "node:http"
import * as https from "node:https"
import * as net from "node:net"
import * as tls from "node:tls"

/** Reserved IPv4 ranges. Node compares mapped addresses with them too, so they cover `::ffff:10.0.0.1`. */
const reserved_v4: ReadonlyArray<readonly [string, number]> = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3]
]
const reserved_v6: ReadonlyArray<readonly [string, number]> = [
  ["::", 96],
  ["::ffff:0:0:0", 96],
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["100::", 64],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8]
]
const makeBlockList = (): net.BlockList => {
  const list = new net.BlockList()
  for (const [address, bits] of reserved_v4) list.addSubnet(address, bits, "ipv4")
  for (const [address, bits] of reserved_v6) list.addSubnet(address, bits, "ipv6")
  return list
}
let blocked: net.BlockList | undefined
const blockList = (): net.BlockList => (blocked ??= makeBlockList())

/** Whether deliveries to this IP address are forbidden. */
export const isReserved = (address: string): boolean =>
  blockList().check(address, net.isIPv6(address) ? "ipv6" : "ipv4")

/** Resolves a name to all its addresses. */
export type Lookup = (
  hostname: string,
  options: { readonly all: true; readonly verbatim: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: ReadonlyArray<dns.LookupAddress>) => void
) => void
const systemLookup: Lookup = (hostname, options, callback) => dns.lookup(hostname, options, callback)

/** Error of a connection that the guard refused. */
export class RefusedTarget extends Error {
  override readonly name = "RefusedTarget"
  readonly code = "ERR_IP_BLOCKED"
}

export interface Guard {
  /** Allows private addresses, for trials. */
  readonly allows_private: boolean
  /** Why the host of a URL is forbidden; undefined if it is allowed or unknown. */
  readonly refusal: (hostname: string) => Promise<string | undefined>
  readonly agentFor: (protocol: string) => http.Agent
  /** When the certificate of an https origin ends, in milliseconds since 1970. Connects, and sends no request. */
  readonly certificateEnd: (origin: string) => Promise<number>
}

/** Removes the brackets around an IPv6 address in a URL. */
const unbracketed = (hostname: string): string => hostname.replace(/^\[|\]$/g, "")

export const makeGuard = (options: { readonly allows_private: boolean; readonly lookup?: Lookup }): Guard => {
  const { allows_private, lookup = systemLookup } = options
  /** Lookup for connections, which fails unless all addresses of a name are allowed. */
  const checkedLookup: net.LookupFunction = (hostname, asked, callback) =>
    lookup(hostname, { all: true, verbatim: true }, (error, addresses) => {
      if (error !== null) return callback(error, [])
      const private_one = allows_private ? undefined : addresses.find(({ address }) => isReserved(address))
      if (private_one !== undefined) return callback(new RefusedTarget(`${private_one.address} is reserved`), [])
      const [first] = addresses
      if (first === undefined) return callback(Object.assign(new Error("no address"), { code: "ENOTFOUND" }), [])
      if (asked.all === true) callback(null, [...addresses])
      else callback(null, first.address, first.family)
    })
  const connect = ({ host, port }: { readonly host: string; readonly port: number }): net.Socket => {
    if (!allows_private && net.isIP(host) !== 0 && isReserved(host)) {
      const socket = new net.Socket()
      return socket.destroy(new RefusedTarget(`${host} is reserved`))
    }
    return net.connect({
      host,
      port,
      lookup: checkedLookup,
      autoSelectFamily: true,
      ...(allows_private ? {} : { blockList: blockList() })
    })
  }
  const plain = new (class extends http.Agent {
    override createConnection(target: http.ClientRequestArgs): net.Socket {
      return connect(placeOf(target))
    }
  })()
  // An https.Agent does not pass a block list to its socket.
  const secure = new (class extends https.Agent {
    override createConnection(target: https.RequestOptions): tls.TLSSocket {
      const place = placeOf(target)
      const servername = target.servername || (net.isIP(place.host) === 0 ? place.host : "")
      return tls.connect({ ...(target as tls.ConnectionOptions), socket: connect(place), servername })
    }
  })()
  const refusal = async (given: string): Promise<string | undefined> => {
    if (allows_private) return undefined
    const hostname = unbracketed(given)
    const addresses = net.isIP(hostname) === 0 ? await addressesOf(hostname, lookup) : [hostname]
    const found = addresses.find(isReserved)
    return found === undefined ? undefined : found === hostname ? `${hostname} is` : `${hostname} resolves to ${found},`
  }
  const certificateEnd = (origin: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const request = https.request(origin, { agent: secure, timeout: handshake_millis })
      request.once("error", reject)
      request.once("timeout", () => request.destroy(new Error("no answer")))
      request.once("socket", (socket) =>
        socket.once("secureConnect", () => {
          if (socket instanceof tls.TLSSocket) resolve(Date.parse(socket.getPeerCertificate().valid_to))
          request.destroy()
        })
      )
    })
  return { allows_private, refusal, certificateEnd, agentFor: (protocol) => (protocol === "https:" ? secure : plain) }
}
const placeOf = (target: http.ClientRequestArgs): { readonly host: string; readonly port: number } => ({
  host: unbracketed(target.host ?? "localhost"),
  port: Number(target.port)
})

const patience_millis = 2_000
const handshake_millis = 5_000
/** Addresses of a name; empty if it is unknown or the lookup is too slow, as every connection looks it up again. */
const addressesOf = (hostname: string, lookup: Lookup): Promise<ReadonlyArray<string>> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve([]), patience_millis)
    lookup(hostname, { all: true, verbatim: true }, (error, addresses) => {
      clearTimeout(timer)
      resolve(error === null ? addresses.map(({ address }) => address) : [])
    })
  })
