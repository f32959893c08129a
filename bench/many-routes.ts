// N routes, N backends and N policies, decoded as if read from files, and ways to change one of them.

import type { DecodedResource } from '../src/control/schema/decode/decode.js'
import { collectResources } from '../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../src/control/schema/kinds/kinds.js'
import type { Resources } from '../src/control/schema/kinds/resources.js'
import { decodeFile } from '../src/control/sources/files/file-record.js'
import { backendOf, oneHost, policyOf, routeOf } from './many-objects.js'
import { gatewayAt, OURS } from './objects.js'

const KINDS = kindsOf(OURS)

function decode(document: object): DecodedResource {
  const { resources, problems } = decodeFile(
    Buffer.from(JSON.stringify(document)),
    'many.json',
    KINDS,
  )
  const [resource] = resources
  if (resource === undefined) throw new Error(problems[0]?.message)
  return resource
}

export interface ManyRoutes {
  resources(): Resources
  /** Changes one route. The version must differ each time, here and in changePolicy. */
  changeRoute(index: number, version: string): void
  changePolicy(index: number, version: string): void
}

export function manyRoutes(count: number): ManyRoutes {
  const indexes = [...Array(count).keys()]
  const [fixed, routes, policies] = [
    [decode(gatewayAt(8080)), ...indexes.map((index) => decode(backendOf(index, 1 + index)))],
    indexes.map((index) => decode(routeOf(index, oneHost))),
    indexes.map((index) => decode(policyOf(index))),
  ]
  return {
    resources: () => collectResources([...fixed, ...routes, ...policies]).resources,
    changeRoute: (index, version) =>
      void (routes[index] = decode(routeOf(index, oneHost, version))),
    changePolicy: (index, version) =>
      void (policies[index] = decode(policyOf(index, `GET${version}`))),
  }
}
