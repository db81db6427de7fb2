/** Where mail goes that no mail server is set for: a file a message, for whoever sends it by other means. */
import { createHash } from "node:crypto"
import { createWriteStream } from "node:fs"
import { mkdir, open, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import type { SendMailOptions } from "nodemailer"
import type { MailMessage } from "./message.ts"

/** Sorted by time; the same message has the same name, so that a second attempt replaces the first one's file. */
export const outboxName = ({ id, written_at }: Pick<MailMessage, "id" | "written_at">): string => {
  const plain = id.replace(/[^\w.-]+/g, "_").replace(/^\.+/, "")
  // Ids that differ in other signs only, or that are longer than a name may be, differ by their hash.
  const named = plain === id && id.length <= 120 ? id : `${plain.slice(0, 100)}.${hashOf(id)}`
  return `${written_at.replace(/[:.]/g, "-")}-${named}.eml`
}
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 12)

/**
 * Writes the message as it would be sent, but with its Bcc, as nobody else knows of it. It is there whole or not at
 * all, and readable by the server's own account only.
 */
export const writeToOutbox = async (folder: string, name: string, message: SendMailOptions): Promise<string> => {
  const { default: MailComposer } = await import("nodemailer/lib/mail-composer")
  const node = new MailComposer(message).compile()
  node.keepBcc = true
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, name)
  const temporary = `${path}.${process.pid}.tmp`
  try {
    // On disk before it has its name.
    await pipeline(node.createReadStream(), createWriteStream(temporary, { mode: 0o600, flush: true }))
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  const directory = await open(folder, "r")
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
  return path
}
