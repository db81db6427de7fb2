/** A person erased on the server is erased from a device's journal too, with its next sync. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { describe, expect, it } from "vitest"
import { serverOfSuite, type TestDevice } from "./opening.ts"

describe("anonymising a person", () => {
  const server = serverOfSuite()
  const journalOf = ({ folder }: TestDevice): string => {
    const db = new DatabaseSync(join(folder, "replica.sqlite"), { readOnly: true })
    const rows = db.prepare("select * from journal order by position").all()
    db.close()
    return JSON.stringify(rows)
  }

  it("removes the person from the journal of the device that created them", async () => {
    const device = await server.enrol()
    const id = await device.contact({ name: "Florence Keller" })
    await device.create(`/members/${id}/phones`, { number: "0171 1" })
    await device.sync()
    expect(journalOf(device)).toMatch(/Florence Keller.*0171 1/)
    await server.create(`/members/${id}/anonymise`)
    await device.sync()
    expect(journalOf(device)).toContain("member.anonymised")
    expect(journalOf(device)).not.toMatch(/Florence|0171/)
    expect(await device.show(`/members/${id}`)).toMatchObject({ name: "Anonymised Member", phones: [] })
  })

  it("is repeated on a device by a release that erases more fields", async () => {
    const field = { name: "next_of_kin", module_type: "Member", field_type: 0, is_personal: true }
    const { id: field_id } = await server.create("/custom_fields", field)
    const device = await server.enrol("van")
    const id = await device.contact({ custom_fields: { next_of_kin: "Aunt Agatha" } })
    await device.sync()
    await server.create(`/members/${id}/anonymise`)
    await device.sync()
    await device.close()
    // As a release without personal custom fields left it.
    const db = new DatabaseSync(join(device.folder, "replica.sqlite"))
    db.exec(
      `update journal set data = json_set(data, '$.custom_fields', json('{"${field_id}":"Aunt Agatha"}')) where type = 'member.created' and stream = 'member:${id}'`
    )
    db.exec("update flightcase_meta set value = 'as an earlier release declared them' where key = 'tables'")
    db.close()
    expect(journalOf(device)).toContain("Agatha")
    const again = await server.reopen("van")
    expect(journalOf(again)).not.toContain("Agatha")
    expect(await again.show(`/members/${id}`)).toMatchObject({
      ...{ name: "Anonymised Member", custom_fields: { next_of_kin: null } }
    })
    for (const name of readdirSync(again.folder))
      expect(readFileSync(join(again.folder, name), "latin1"), name).not.toContain("Agatha")
  })
})
