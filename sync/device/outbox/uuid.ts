/** Ids of commands. */
/** A UUID v7: 48 bits of milliseconds, so that ids sort by the time they were made, then chance. */
export const uuidv7 = (now = Date.now()): string => {
  const bytes = Buffer.from(crypto.getRandomValues(new Uint8Array(16)).buffer)
  bytes.writeUIntBE(now, 0, 6)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString("hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
