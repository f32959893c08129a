// A golden case of the translation: its documents, with what a case may say beside them, → what is compared.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { createTranslator } from '../../src/gatewayapi/translator.js'
import type { TranslatorOptions } from '../../src/gatewayapi/world/context.js'
import type { Ir } from '../../src/ir/ir.js'
import type { RemoteDocument, RemoteState } from '../../src/ir/remote-target.js'
import type { ResolvedName } from '../../src/ir/resolved-name.js'
import type { ResourceStatus } from '../../src/ir/status.js'
import { type Condition, placeOf } from '../../src/ir/status.js'
import type { DecodedResource } from '../../src/resources/decode/decode.js'
import { collectResources } from '../../src/resources/decode/resource-set.js'
import { decodeFile } from '../../src/resources/files/file-record.js'
import { kindsOf } from '../../src/resources/kinds/kinds.js'
import type { Resources } from '../../src/resources/kinds/resources.js'
import { type KeyPair, selfSigned } from './certificates.js'
import { API_GROUP } from './resources.js'

/** A document without a kind, first in a case's file. */
interface Setting {
  readonly options?: Partial<TranslatorOptions>
  /** Default documents that would only be in the way, as "KIND NAMESPACE/NAME". */
  readonly omit?: readonly string[]
  /** What was fetched, by the URL that was asked first; everything else was not fetched yet. */
  readonly remote?: Readonly<Record<string, RemoteDocument>>
  /** What names resolved to; everything else was not looked up yet. */
  readonly names?: Readonly<Record<string, ResolvedName>>
  /** Parts of the output that the case is about; everything when absent. */
  readonly show?: readonly (keyof Ir | 'wanted' | 'names' | 'status')[]
}

export const OPTIONS: TranslatorOptions = {
  apiGroup: API_GROUP,
  clusterDomain: 'cluster.local',
  metadataIssuer: 'Provider',
}

const DEFAULTS = readFileSync(join(import.meta.dirname, '../golden/_defaults.yaml'), 'utf8')

/** Always the same, as ids of wanted documents are made of it. */
const AUTHORITY = readFileSync(join(import.meta.dirname, '../golden/_authority.pem'), 'utf8')

/** Placeholders of a case's file → what stands in their place, so that no private key is kept in a file. */
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
  /** What the golden holds. */
  readonly shown: object
}

export function translateCase(input: string): TranslatedCase {
  const { setting, documents } = splitSetting(input)
  const { resources, own } = resourcesOf(documents, setting.omit ?? [])
  const translator = createTranslator({ ...OPTIONS, ...setting.options })
  const { wanted } = translator.translate(resources, new Map())
  const remote: RemoteState = new Map(
    wanted.flatMap(({ id, targets }) => {
      const known = setting.remote?.[targets[0]?.url ?? '']
      return known === undefined ? [] : [[id, known]]
    }),
  )
  const known = new Map(Object.entries(setting.names ?? {}))
  const { ir, wanted: all, names, statuses } = translator.translate(resources, remote, known)
  const status = statuses.filter((one) => own.has(nameOf(one))).flatMap(statusLines)
  return { ir, shown: withPlaceholders(shown({ ...ir, wanted: all, names, status }, setting)) }
}

function splitSetting(input: string): { readonly setting: Setting; readonly documents: string } {
  const [first = '', ...others] = input.split(/^---\n/m)
  const value = parse(first) as { readonly kind?: string } & Setting
  return value.kind === undefined
    ? { setting: value, documents: others.join('---\n') }
    : { setting: {}, documents: input }
}

/** A document of the case takes the place of the default one of its name. */
function resourcesOf(
  documents: string,
  omit: readonly string[],
): {
  readonly resources: Resources
  /** nameOf() of what the case itself wrote. */
  readonly own: ReadonlySet<string>
} {
  const written = decodeDocuments(documents)
  const all = [...written, ...DEFAULT_DOCUMENTS].filter(
    ({ resource }) => !omit.includes(nameOf({ ...resource, ...resource.metadata })),
  )
  const own = written.map(({ resource }) => nameOf({ ...resource, ...resource.metadata }))
  return { resources: collectResources(all).resources, own: new Set(own) }
}

/** Throws where a document does not decode: the cases are about what does. */
function decodeDocuments(documents: string): readonly DecodedResource[] {
  const text = Object.entries(PEMS).reduce((all, [name, pem]) => fill(all, name, pem), documents)
  const { resources, problems } = decodeFile(Buffer.from(text), 'case.yaml', kindsOf(API_GROUP))
  if (problems.length > 0)
    throw new Error(problems.map(({ source, message }) => `${source} ${message}`).join('\n'))
  return resources
}

/** Every document of a case's input, and the defaults. */
export const caseDocuments = (input: string): readonly DecodedResource[] => [
  ...decodeDocuments(splitSetting(input).documents),
  ...DEFAULT_DOCUMENTS,
]

export const DEFAULT_DOCUMENTS = decodeDocuments(DEFAULTS)

type Named = Pick<ResourceStatus, 'kind' | 'namespace' | 'name'>

const nameOf = ({ kind, namespace, name }: Named): string => `${kind} ${namespace}/${name}`

/** Stands alone on its line: every line of the text is indented as it is. */
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

/** One line a condition: the goldens are read by people. */
const statusLines = (status: ResourceStatus): readonly object[] =>
  status.conditions.length === 0 ? [] : [{ [nameOf(status)]: status.conditions.map(conditionLine) }]

function conditionLine(condition: Condition): string {
  const { type, status, reason, message } = condition
  const place = placeOf(condition)
  return `${place === '' ? '' : `[${place}] `}${type}=${status} ${reason}: ${message}`
}
