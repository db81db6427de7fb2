/** Rules for sealing, opening and ending containers, as given, when, then with full events. */
import { describe, it } from "vitest"
import type { ContainerFacts } from "../../../../core/warehouse/containers/facts.ts"
import { containerEvents } from "../../../../core/warehouse/containers/events.ts"
import {
  changeContainer,
  dissolveContainer,
  sealContainer,
  startRepack,
  unsealContainer
} from "../../../../core/warehouse/containers/lifecycle.ts"
import { container_items, containers } from "../../../../core/products/packing.ts"
import type { JsonObject } from "../../../../core/kernel/fields/field.ts"
import type { NewEvent } from "../../../../core/kernel/events/event-type.ts"
import { decided_at, decider, type Facts, given_at } from "../../decider.ts"
import { container, item } from "./rows.ts"

const { given } = decider(containerEvents)

const happened = (id: number, type: string, data: NewEvent["data"]): NewEvent => ({
  stream: `container:${id}`,
  type,
  data: { id, ...data }
})

const target = ({ find, get }: Facts, id: number, product?: ContainerFacts["product"]): ContainerFacts => {
  const of = get(containers, id)!
  const parent = of.parent_container_id === null ? undefined : get(containers, of.parent_container_id)
  return {
    container: of,
    product,
    as_case: { container_mode: null } as unknown as ContainerFacts["as_case"],
    chain: parent === undefined ? [of] : [of, parent],
    nesting_max: 2,
    items: find(container_items, { container_id: id, unpacked_at: null })
  }
}
const slots = (...wanted: ReadonlyArray<readonly [product_id: number, quantity: number]>): ContainerFacts["product"] =>
  ({
    container_template: { slots: wanted.map(([product_id, quantity]) => ({ product_id, quantity })) }
  }) as unknown as ContainerFacts["product"]
const sealed = (id: number, sealed_at = given_at, more: JsonObject = {}): NewEvent =>
  happened(id, "container.sealed", {
    status: "sealed",
    sealed_at,
    sealed_by_user_id: 1,
    repack_started_at: null,
    ...more
  })

describe("sealing a container", () => {
  const sealing =
    (notes: string | null = null, nested: ReadonlyArray<number> = [], product?: ContainerFacts["product"]) =>
    (facts: Facts) =>
      sealContainer(
        target(facts, 7, product),
        nested.map((id) => facts.get(containers, id)!),
        notes,
        facts.context
      )

  it("records time and user, and ends repacking", () => {
    given(container(7), item(1, 7)).when(sealing()).thenEvents(sealed(7, decided_at))
  })
  it("stores the given notes as well", () => {
    given(container(7), item(1, 7))
      .when(sealing("checked twice"))
      .thenEvents(sealed(7, decided_at, { notes: "checked twice" }))
  })
  it("is rejected for a container that is empty or was emptied since it was packed", () => {
    const errors = { container: ["The container is empty; pack something first."] }
    given(container(7)).when(sealing()).thenRefused(errors)
    const unpacked = happened(7, "container.item.unpacked", {
      id: 1,
      container_id: 7,
      serialised_item_id: 501,
      unpacked_at: given_at,
      unpacked_reason: "manual",
      transferred_to_container_id: null
    })
    given(container(7), item(1, 7), unpacked).when(sealing()).thenRefused(errors)
  })
  it("is rejected a second time", () => {
    given(container(7), item(1, 7), sealed(7))
      .when(sealing())
      .thenRefused({ container: ["The container is sealed already."] })
  })
  it("is rejected while a nested container is open", () => {
    const nest = [container(7), item(1, 7), container(8, { name: "Inner" })]
    given(...nest)
      .when(sealing(null, [8]))
      .thenRefused({ container: ["The container Inner inside it is still open; seal that one first."] })
    given(...nest, sealed(8))
      .when(sealing(null, [8]))
      .thenResult({ id: 7 })
  })
  it("is rejected for a strict container while its content differs from the template", () => {
    const strict = container(7, { scan_mode: "strict" })
    given(strict, item(1, 7))
      .when(sealing(null, [], slots([50, 2])))
      .thenRefused({ container: ["Product 50: 1 of 2 packed."] })
    given(strict, item(1, 7), item(2, 7))
      .when(sealing(null, [], slots([50, 1])))
      .thenRefused({ container: ["Product 50: 2 packed where the template has room for 1."] })
    given(strict, item(1, 7), item(2, 7, { product_id: 60 }))
      .when(sealing(null, [], slots([50, 1])))
      .thenRefused({ container: ["Unit 502 is not on the template."] })
    given(strict, item(1, 7))
      .when(sealing(null, [], slots([50, 1])))
      .thenResult({ id: 7 })
  })
})

describe("unsealing a container", () => {
  const unsealing = (facts: Facts) => unsealContainer(target(facts, 7), [], facts.context)

  it("records time and user", () => {
    given(container(7), sealed(7))
      .when(unsealing)
      .thenEvents(
        happened(7, "container.unsealed", { status: "open", unsealed_at: decided_at, unsealed_by_user_id: 1 })
      )
  })
  it("is rejected for an open container", () => {
    given(container(7))
      .when(unsealing)
      .thenRefused({ container: ["The container is open; only sealed ones can be unsealed."] })
  })
  it("is rejected while an order has the container", () => {
    given(container(7, { opportunity_id: 77 }), sealed(7))
      .when(unsealing)
      .thenRefused({ container: ["The container is committed to opportunity 77."] })
  })
  it("is rejected inside a sealed container", () => {
    given(container(6, { name: "Outer" }), container(7, { parent_container_id: 6 }), sealed(7), sealed(6))
      .when(unsealing)
      .thenRefused({ container: ["The container is inside Outer, which is sealed."] })
  })
})

describe("changing a container", () => {
  it("records the changed name, and not the unchanged notes", () => {
    given(container(7))
      .when(({ get }) => changeContainer(get(containers, 7)!, { name: "Rack", notes: null }, undefined))
      .thenEvents(happened(7, "container.updated", { name: "Rack" }))
  })
  it("records nothing for the present values", () => {
    given(container(7))
      .when(({ get }) => changeContainer(get(containers, 7)!, { name: "Case 7" }, undefined))
      .thenNothing()
  })
  it("is rejected for the scan mode of sealed and temporary containers", () => {
    const free = (facts: Facts) => changeContainer(facts.get(containers, 7)!, { scan_mode: "strict" }, undefined)
    given(container(7), sealed(7))
      .when(free)
      .thenRefused({ container: ["The scan mode can be changed only while the container is open; it is sealed."] })
    given(container(7, { is_temporary: true, barcode: "BOX" }))
      .when(free)
      .thenRefused({ scan_mode: ["Temporary containers are always free."] })
  })
})

describe("dissolving a container", () => {
  const dissolving = (facts: Facts) => dissolveContainer(target(facts, 7), [], undefined, "manual", facts.context)

  it("records time, user and reason", () => {
    given(container(7))
      .when(dissolving)
      .thenEvents(
        happened(7, "container.dissolved", {
          status: "dissolved",
          dissolved_at: decided_at,
          dissolved_by_user_id: 1,
          dissolved_reason: "manual",
          parent_container_id: null,
          repack_started_at: null
        })
      )
  })
  it("is rejected while the container is out, and a second time", () => {
    given(container(7, { status: "dispatched" }))
      .when(dissolving)
      .thenRefused({ container: ["The container is out; it has to come back first."] })
    given(container(7, { status: "dissolved" }))
      .when(dissolving)
      .thenRefused({ container: ["The container is dissolved already."] })
  })
})

describe("repacking a container", () => {
  const repacking = (facts: Facts) =>
    startRepack(
      facts.get(containers, 7)!,
      { name: null, barcode: null },
      { housed: undefined, packed: undefined, duplicate: undefined },
      facts.context
    )

  it("opens a returned container", () => {
    given(
      container(7),
      happened(7, "container.returned", {
        status: "returned",
        returned_at: given_at,
        opportunity_id: null,
        returned_from_opportunity_id: 77
      })
    )
      .when(repacking)
      .thenEvents(happened(7, "container.repack.started", { status: "open", repack_started_at: decided_at }))
  })
  it("is rejected for a container that was never dispatched", () => {
    given(container(7))
      .when(repacking)
      .thenRefused({
        container: ["The container is open; only returned and dissolved ones are repacked."],
        container_id: ["The container is open; only returned and dissolved ones are repacked."]
      })
  })
})
