// Runs a golden case of the translation: reads its settings and documents, and returns the output to compare.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { DecodedResource } from '../../src/control/schema/decode/decode.js'
import { collectResources } from '../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../src/control/schema/kinds/kinds.js'
import type { Resources } from '../../src/control/schema/kinds/resources.js'
import { decodeFile } from '../../src/control/sources/files/file-record.js'
import { createTranslator } from '../../src/control/translate/translator.js'
import type { TranslatorOptions } from '../../src/control/translate/world/context.js'
import type { RelayKeys } from '../../src/control/translate/world/world.js'
import type { Ir } from '../../src/model/ir.js'
import type { RemoteDocument, RemoteState } from '../../src/model/remote-target.js'
import type { ResolvedName } from '../../src/model/resolved-name.js'
import type { ResourceStatus } from '../../src/model/status.js'
import { type Condition, placeOf } from '../../src/model/status.js'
import { type KeyPair, selfSigned } from './certificates.js'
import { API_GROUP } from './resources.js'

/** Settings of a case: an optional first document, without a kind. */
interface Setting {
  readonly options?: Partial<TranslatorOptions>
  /** Default documents to leave out, as "KIND NAMESPACE/NAME". */
  readonly omit?: readonly string[]
  /** Fetched documents, by the originally requested URL; everything else counts as not fetched yet. */
  readonly remote?: Readonly<Record<string, RemoteDocument>>
  /** Resolved names; everything else counts as not looked up yet. */
  readonly names?: Readonly<Record<string, ResolvedName>>
  /** Keys of relays without a keyRef; absent: there are none. */
  readonly relayKeys?: RelayKeys
  /** Parts of the output to compare; everything if absent. */
  readonly show?: readonly (keyof Ir | 'wanted' | 'names' | 'provisioned' | 'status')[]
}

export const OPTIONS: TranslatorOptions = {
  apiGroup: API_GROUP,
  clusterDomain: 'cluster.local',
  metadataIssuer: 'Provider',
}

const DEFAULTS = readFileSync(join(import.meta.dirname, '../golden/_defaults.yaml'), 'utf8')

/** A fixed certificate, because the ids of wanted documents depend on it. */
const AUTHORITY = readFileSync(join(import.meta.dirname, '../golden/_authority.pem'), 'utf8')

/** Returns the texts for the placeholders of a case's file, so that no private key is kept in a file. */
function placeholders(): Readonly<Record<string, string>> {
  const [pair, other]: readonly KeyPair[] = [selfSigned('a.example'), selfSigned('b.example')]
  return Object.fromEntries(
    Object.entries({
      AUTHORITY,
      CERTIFICATE: pair?.cert,
      PRIVATE_KEY: pair?.key,
      OTHER_KEY: other?.key,
    }).map(([name, pem]) => [`<${name}>`, pem ?? '']),
  )
}

const PEMS = placeholders()

export interface TranslatedCase {
  readonly ir: Ir
  readonly statuses: readonly ResourceStatus[]
  /** The output of the golden. */
  readonly shown: object
}

export function translateCase(input: string): TranslatedCase {
  const { setting, documents } = splitSetting(input)
  const { resources, own } = resourcesOf(documents, setting.omit ?? [])
  const { relayKeys } = setting
  const translator = createTranslator({
    ...OPTIONS,
    ...setting.options,
    ...(relayKeys && { relayKeys: () => relayKeys }),
  })
  const { wanted } = translator.translate(resources, new Map())
  const remote: RemoteState = new Map(
    wanted.flatMap(({ id, targets }) => {
      const known = setting.remote?.[targets[0]?.url ?? '']
      return known === undefined ? [] : [[id, known]]
    }),
  )
  const known = new Map(Object.entries(setting.names ?? {}))
  const translation = translator.translate(resources, remote, known)
  const { ir, wanted: all, names, statuses, provisioned = [] } = translation
  const status = statuses.filter((one) => own.has(nameOf(one))).flatMap(statusLines)
  return {
    ir,
    statuses,
    shown: withPlaceholders(shown({ ...ir, wanted: all, names, provisioned, status }, setting)),
  }
}

function splitSetting(input: string): { readonly setting: Setting; readonly documents: string } {
  const [first = '', ...others] = input.split(/^---\n/m)
  const value = parse(first) as { readonly kind?: string } & Setting
  return value.kind === undefined
    ? { setting: value, documents: others.join('---\n') }
    : { setting: {}, documents: input }
}

/** Combines the case's documents with the defaults; a document of the case replaces the default of the same name. */
function resourcesOf(
  documents: string,
  omit: readonly string[],
): {
  readonly resources: Resources
  /** nameOf() of the case's own documents. */
  readonly own: ReadonlySet<string>
} {
  const written = decodeDocuments(documents)
  const all = [...written, ...DEFAULT_DOCUMENTS].filter(
    ({ resource }) => !omit.includes(nameOf({ ...resource, ...resource.metadata })),
  )
  const own = written.map(({ resource }) => nameOf({ ...resource, ...resource.metadata }))
  return { resources: collectResources(all).resources, own: new Set(own) }
}

/** Decodes the documents. Throws if one does not decode, because cases are about valid documents only. */
function decodeDocuments(documents: string): readonly DecodedResource[] {
  const text = Object.entries(PEMS).reduce((all, [name, pem]) => fill(all, name, pem), documents)
  const { resources, problems } = decodeFile(Buffer.from(text), 'case.yaml', kindsOf(API_GROUP))
  if (problems.length > 0)
    throw new Error(problems.map(({ source, message }) => `${source} ${message}`).join('\n'))
  return resources
}

/** Returns every document of a case's input, and the defaults. */
export const caseDocuments = (input: string): readonly DecodedResource[] => [
  ...decodeDocuments(splitSetting(input).documents),
  ...DEFAULT_DOCUMENTS,
]

export const DEFAULT_DOCUMENTS = decodeDocuments(DEFAULTS)

type Named = Pick<ResourceStatus, 'kind' | 'namespace' | 'name'>

const nameOf = ({ kind, namespace, name }: Named): string => `${kind} ${namespace}/${name}`

/** Replaces a placeholder that is alone on its line, and indents every line of the text like it. */
function fill(text: string, placeholder: string, pem: string): string {
  const line = new RegExp(`^( *)${placeholder}$`, 'gm')
  return text.replace(line, (_, indent: string) => pem.trim().replace(/^/gm, indent))
}

function withPlaceholders(output: object): object {
  const text = Object.entries(PEMS).reduce(
    (all, [name, pem]) => all.replaceAll(JSON.stringify(pem).slice(1, -1), name),
    JSON.stringify(output),
  )
  return JSON.parse(text) as object
}

function shown(all: Readonly<Record<string, readonly unknown[]>>, { show }: Setting): object {
  const parts = Object.entries(all).filter(
    ([name, part]) => part.length > 0 && (show === undefined || show.some((one) => one === name)),
  )
  return Object.fromEntries(parts)
}

/** Formats each condition and the addresses as one line each, to keep goldens readable. */
const statusLines = (status: ResourceStatus): readonly object[] =>
  status.conditions.length === 0
    ? []
    : [{ [nameOf(status)]: [...status.conditions.map(conditionLine), ...addressLines(status)] }]

const addressLines = ({ addresses }: ResourceStatus): readonly string[] =>
  addresses === undefined
    ? []
    : [`addresses: ${addresses.map(({ type, value }) => `${type} ${value}`).join(', ') || 'none'}`]

function conditionLine(condition: Condition): string {
  const { type, status, reason, message } = condition
  const place = placeOf(condition)
  return `${place === '' ? '' : `[${place}] `}${type}=${status} ${reason}: ${message}`
}
