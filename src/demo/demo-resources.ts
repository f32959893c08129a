// Replaces addresses and API group in the text of config/demo's resources with those of this run; comments stay.

import { type Document, type Pair, parseAllDocuments, type Scalar, visit } from 'yaml'
import { CONFIG_PORTS } from './demo-parties.js'

const CONFIG_HOST = '127.0.0.1'
const CONFIG_API_GROUP = 'policy.gatehouse.dev'

/** Name of a party whose port config/demo names. */
export type PartyName = keyof typeof CONFIG_PORTS

/** The values of a run that replace those of config/demo. */
export interface DemoValues {
  readonly ports: Readonly<Record<PartyName, number>>
  /** Host on which clients reach the gateway, IPv6 without brackets. The other parties are at 127.0.0.1. */
  readonly gatewayHost: string
  readonly apiGroup: string
}

/** Replaces ports, URLs and API groups, wherever they occur. text: YAML documents. */
export function withValues(text: string, values: DemoValues): string {
  const documents = parseAllDocuments(text) as Document[]
  for (const document of documents) {
    visit(document, {
      Pair: (_key, pair) => setPort(pair, values),
      Scalar: (_key, scalar) => setText(scalar, values),
    })
  }
  return documents
    .map((document) => document.toString({ lineWidth: 0, flowCollectionPadding: false }))
    .join('')
}

/** Returns scheme, host and port of the party's URLs. */
export function originOf(party: PartyName, { ports, gatewayHost }: DemoValues): string {
  const host = party === 'gateway' ? gatewayHost : CONFIG_HOST
  return `http://${host.includes(':') ? `[${host}]` : host}:${String(ports[party])}`
}

const parties = Object.keys(CONFIG_PORTS) as PartyName[]

/** Replaces the port of a listener, a backend or a reference to one. */
function setPort({ key, value }: Pair, { ports }: DemoValues): void {
  if ((key as Scalar).value !== 'port') return
  const port = value as Scalar
  const party = parties.find((name) => CONFIG_PORTS[name] === port.value)
  if (party !== undefined) port.value = ports[party]
}

function setText(scalar: Scalar, values: DemoValues): void {
  const text = scalar.value
  if (typeof text !== 'string') return
  const [group, ...rest] = text.split('/')
  if (group === CONFIG_API_GROUP) scalar.value = [values.apiGroup, ...rest].join('/')
  const party = parties.find((name) => text.startsWith(`${configOrigin(name)}/`))
  if (party !== undefined) {
    scalar.value = originOf(party, values) + text.slice(configOrigin(party).length)
  }
}

const configOrigin = (party: PartyName): string =>
  `http://${CONFIG_HOST}:${String(CONFIG_PORTS[party])}`
