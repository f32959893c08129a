// A route may have a thousand matches, on many Gateways: what is done with them between two yields does not grow with
// their number.

import { expect, test } from 'vitest'
import type { DecodedResource } from '../../../src/control/schema/decode/decode.js'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../../src/control/schema/kinds/kinds.js'
import type { Resources } from '../../../src/control/schema/kinds/resources.js'
import { decodeFile } from '../../../src/control/sources/files/file-record.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import type { Work } from '../../../src/kit/turns.js'
import {
  allow,
  API_GROUP,
  backendRef,
  type Document,
  gateway,
  httpRoute,
  prefix,
  proxyBackend,
  proxyPolicy,
} from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

const KINDS = kindsOf(API_GROUP)
const GATEWAYS = ['a', 'b', 'c', 'd']
const RULES = 16
const MATCHES = 64
/** Reads of the headers of one match. */
const READS = 3

const counted = { reads: 0 }

/** Counts how often a member of the object is read. */
function watched<T extends object>(object: T, member: keyof T): T {
  const value = object[member]
  const get = (): unknown => {
    counted.reads += 1
    return value
  }
  return Object.defineProperty({ ...object }, member, { enumerable: true, get })
}

function decoded(document: Document): DecodedResource {
  const { resources, problems } = decodeFile(Buffer.from(JSON.stringify(document)), 'f', KINDS)
  const [first] = resources
  if (first === undefined) throw new Error(problems[0]?.message)
  return first
}

type Route = Resources['httpRoutes'][number]

/** A route whose matches count how often their headers are read. */
function watchedRoute(document: Document): DecodedResource {
  const one = decoded(document)
  const { spec } = one.resource as Route
  const rules = spec.rules.map((rule) => ({
    ...rule,
    matches: rule.matches.map((match) => watched(match, 'headers')),
  }))
  return { ...one, resource: { ...one.resource, spec: { ...spec, rules } } }
}

function onGateway(name: string): Document {
  const policy = proxyPolicy(`on-${name}`, name, { authorization: allow('true') })
  return {
    ...policy,
    spec: {
      ...policy.spec,
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name }],
    },
  }
}

function steps<T>(work: Work<T>): { readonly value: T; readonly most: number } {
  for (let most = 0; ;) {
    const { reads } = counted
    const step = work.next()
    most = Math.max(most, counted.reads - reads)
    if (step.done === true) return { value: step.value, most }
  }
}

test('the matches of a route are translated one at a time, for each of its Gateways', () => {
  const route = httpRoute('many', {
    parentRefs: GATEWAYS.map((name) => ({ name })),
    rules: Array.from({ length: RULES }, (_, rule) => ({
      matches: Array.from({ length: MATCHES }, (_none, match) =>
        prefix(`/${String(rule)}/${String(match)}`),
      ),
      backendRefs: [backendRef('backend')],
    })),
  })
  const { resources } = collectResources([
    ...GATEWAYS.flatMap((name) => [decoded(gateway([8080], name)), decoded(onGateway(name))]),
    decoded(proxyBackend('backend', { host: '127.0.0.1', port: 1 })),
    watchedRoute(route),
  ])
  const { value, most } = steps(createTranslator(OPTIONS).translationWork(resources, new Map()))
  expect(value.ir.authz).toHaveLength(GATEWAYS.length * RULES)
  expect(most).toBeLessThanOrEqual(READS)
})
