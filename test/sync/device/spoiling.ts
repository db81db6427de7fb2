/** Folders of devices that something happened to, and what people are told of it. */
import { cpSync } from "node:fs"
import { join } from "node:path"
import { beforeAll } from "vitest"
import { exitFrom } from "../../../cli/context/error-report.ts"
import type { TestServer } from "../opening.ts"

/** What the command line would say of a failure. */
export const told = async (
  work: () => Promise<unknown>
): Promise<{ readonly code: number; readonly message: string; readonly way_out: string | undefined }> => {
  try {
    await work()
  } catch (error) {
    const { code, message, way_out } = exitFrom(error)
    return { code, message, way_out }
  }
  throw new Error("nothing went wrong")
}

/** Gives the name of a copy of a closed device's folder, in which these were recorded and not sent. */
export const leftBehind = (
  server: TestServer,
  groups: ReadonlyArray<{ readonly name: string; readonly description?: string }>
): (() => string) => {
  let template: string,
    copies = 0
  beforeAll(async () => {
    const device = await server.enrol()
    for (const group of groups) await device.create("/product_groups", group)
    await device.close()
    template = device.folder
  })
  return () => {
    const name = `copy-${++copies}-of-${groups.length}`
    cpSync(template, join(server.folder, name), { recursive: true })
    return name
  }
}
