/** Devices receive only the attachments their user may see. */
import { expect, it } from "vitest"
import { attachables, mayRead, mayWrite, seesAttachments } from "../../../../core/office/attachments/attachables.ts"
import { catalogue } from "../../../../core/catalogue.ts"
import { viewerWith } from "../../../app.ts"

it.each(catalogue.permissions.map(({ key }) => key).filter((key) => key !== "action-log.view"))(
  "a device receives only attachments that its user may read or write, with the permission %s alone",
  (permission) => {
    const viewer = viewerWith([permission], ["*"])
    for (const kind of attachables) {
      const is_sent = seesAttachments({ attachable_type: kind.type }, viewer)
      expect([kind.type, is_sent && !mayRead(kind, viewer) && !mayWrite(kind, viewer)]).toEqual([kind.type, false])
      // Users who may read them receive them.
      if (mayRead(kind, viewer)) expect([kind.type, is_sent]).toEqual([kind.type, true])
    }
  }
)
