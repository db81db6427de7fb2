/** Files with commands of a person: whole or not at all, and readable by their owner alone. */

/** Written under another name, then renamed: a stick removed too early holds no half file under its name. */
export const writePrivately = async (file: string, text: string): Promise<void> => {
  const { rename, rm, writeFile } = await import("node:fs/promises")
  const beside = `${file}.part`
  try {
    await writeFile(beside, text, { mode: 0o600, flush: true })
    await rename(beside, file)
  } catch (error) {
    await rm(beside, { force: true }).catch(() => undefined)
    throw error
  }
}
