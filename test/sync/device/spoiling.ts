/** Damaged device folders, and the messages about them. */
import { cpSync } from "node:fs"
import { join } from "node:path"
import { beforeAll } from "vitest"
import { exitFrom } from "../../../cli/context/error-report.ts"
import type { TestServer } from "../opening.ts"

/** Message of the command line for a failure. */
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

/** Copies a closed device's folder with these unsent commands; returns the copy's name. */
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
