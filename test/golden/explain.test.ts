// Golden test of explanations: a request and resources → what `gatehouse explain` prints, as text and as JSON.

import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { collectResources } from '../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../../src/control/sources/files/file-record.js'
import { createTranslator } from '../../src/control/translate/translator.js'
import type { RemoteState } from '../../src/model/remote-target.js'
import { explain } from '../../src/ops/explain/explain.js'
import { readExplainRequest } from '../../src/ops/explain/explain-request.js'
import { explanationText } from '../../src/ops/explain/explanation-text.js'
import { expectGolden, type GoldenCase, goldenCases } from '../support/golden.js'
import { API_GROUP } from '../support/resources.js'
import { keySet, newKey, type SigningKey,signToken } from '../support/tokens.js'
import { OPTIONS } from '../support/translate-case.js'

/** The time of all cases, in seconds since the epoch. */
const NOW = 1_800_000_000
const SEPARATOR = '\n---\n'

/** The first document of a case. */
interface Setting {
  readonly request: string
  readonly headers?: readonly string[]
  /** Claims of the token beside exp; absent: no token is sent. */
  readonly claims?: Readonly<Record<string, unknown>>
  /** Header of the token, beside alg; null: without that member. */
  readonly tokenHeader?: Readonly<Record<string, string | null>>
  /** Whether the key set has a second key, in front of that of the token; default no. */
  readonly hasOtherKey?: boolean
  readonly body?: string
  readonly requirePolicy?: boolean
  /** Whether key sets were fetched; default yes. */
  readonly hasKeys?: boolean
  /** Whether a running Gatehouse explains; default no. */
  readonly isRunning?: boolean
}

let key: SigningKey
let other: SigningKey
beforeAll(async () => {
  key = await newKey('k1')
  other = await newKey('other')
})

async function explained({ input }: GoldenCase) {
  const [first = '', ...documents] = input.split(SEPARATOR)
  const setting = parseAllDocuments(first)[0]?.toJS() as Setting
  const text = Buffer.from(documents.join(SEPARATOR))
  const decoded = decodeFile(text, 'case.yaml', kindsOf(API_GROUP))
  expect(decoded.problems).toEqual([])
  const { resources } = collectResources(decoded.resources)
  const translator = createTranslator({ ...OPTIONS, requirePolicy: setting.requirePolicy ?? false })
  const { wanted } = translator.translate(resources, new Map())
  const document = JSON.parse(
    JSON.stringify(setting.hasOtherKey === true ? keySet(other, key) : keySet(key)),
  ) as Record<string, never>
  const remote: RemoteState =
    setting.hasKeys === false ? new Map() : new Map(wanted.map(({ id }) => [id, { document }]))
  const { ir, statuses } = translator.translate(resources, remote)
  const request = readExplainRequest({
    request: setting.request,
    headers: setting.headers ?? [],
    token: await tokenOf(setting),
    body: setting.body === undefined ? undefined : Buffer.from(setting.body),
  })
  if (!request.ok) throw new Error(request.error)
  const model = {
    ir, statuses, resources, trustedHops: 0, maxBodyBytes: 1 << 20, isMesh: false,
    isOffline: setting.isRunning !== true,
    now: () => NOW * 1000,
    refetchKeySet: () => Promise.resolve({ isAnswered: true, isOlder: false }),
    keySetAnswers: () => 1,
  }
  return explain(model, request.value)
}

function tokenOf({ claims, tokenHeader = {} }: Setting): Promise<string> | undefined {
  if (claims === undefined) return undefined
  const header = Object.entries(tokenHeader).map(([name, value]) => [name, value ?? undefined])
  return signToken({
    key, claims: { exp: NOW + 600, ...claims },
    header: Object.fromEntries(header) as Record<string, string>,
  })
}

for (const golden of goldenCases(join(import.meta.dirname, 'explain')))
  test(golden.name, async () => {
    const explanation = await explained(golden)
    expectGolden(golden, { text: explanationText(explanation), json: explanation })
  })
