// Explains a request from files of resources, with keys from files or fetched from their providers.

import { readFile } from 'node:fs/promises'
import { meshOf } from '../../control/publish/mesh.js'
import { problemLine } from '../../control/schema/decode/problem-line.js'
import { loadResources } from '../../control/sources/files/load-resources.js'
import { errorText } from '../../kit/errors.js'
import { err, ok, type Result } from '../../kit/result.js'
import { isJsonObject, type JsonObject, parseJson } from '../../model/json.js'
import type { RemoteDocument, RemoteState, WantedDocument } from '../../model/remote-target.js'
import { explain, type ExplainModel, neededFor } from '../../ops/explain/explain.js'
import type { ExplainRequest } from '../../ops/explain/explain-request.js'
import type { Explanation } from '../../ops/explain/explanation.js'
import type { Settings } from '../../ops/settings/settings.js'
import type { CommandIo } from './command-io.js'
import { fetchRemote } from './fetch-remote.js'
import { offlineTranslator } from './offline.js'

/** error: why the request cannot be explained. */
export async function explainOffline(
  settings: Settings,
  request: ExplainRequest,
  io: CommandIo,
): Promise<Result<Explanation, string>> {
  const provider = await loadResources(settings.resources, { apiGroup: settings.apiGroup })
  if (provider.problems.length > 0) {
    const lines = provider.problems.map((problem) => `${problemLine(problem)}\n`)
    io.err(lines.join(''))
    return err('nothing is explained: at its start Gatehouse would not serve these documents')
  }
  const { resources } = provider
  const translator = offlineTranslator(settings)
  const first = translator.translate(resources, new Map())
  const common = {
    resources,
    trustedHops: settings.trustedHops,
    isOffline: true,
    now: () => Date.now(),
    maxBodyBytes: settings.maxBodyBytes,
    isMesh: meshOf(settings).mesh !== undefined,
    ruleBudget: { steps: settings.ruleSteps, bytes: settings.ruleBytes },
    refetchKeySet: () => Promise.resolve({ isAnswered: true, isOlder: false }),
    keySetAnswers: () => 1,
  }
  const needed = neededFor(first.ir, request)
  const wanted = first.wanted.filter(({ id, kind }) =>
    kind === 'KeySet' ? needed.keySets.includes(id) : settings.fetch && needed.discovery,
  )
  const assumesKeys = !settings.fetch && settings.jwks.length === 0 && !hasToken(request)
  const remote = await keysOf(wanted, settings, { assumesKeys, stop: io.stop })
  if (!remote.ok) return remote
  const { ir, statuses } = translator.translate(resources, remote.value)
  const model: ExplainModel = { ...common, ir, statuses }
  const explanation = await explain(model, request)
  const notes = [
    ...explanation.notes,
    ...(assumesKeys && wanted.length > 0 ? [KEYS_ASSUMED] : []),
    ...fetchNotes(wanted, remote.value),
  ]
  return ok({ ...explanation, notes })
}

const KEYS_ASSUMED = 'Assumed that the key sets of the providers were fetched, as there is no token'

const hasToken = ({ headers }: ExplainRequest): boolean =>
  headers.some(([name]) => name === 'authorization')

interface KeyChoice {
  /** Whether empty key sets stand for those of the providers. */
  readonly assumesKeys: boolean
  readonly stop: AbortSignal
}

async function keysOf(
  wanted: readonly WantedDocument[],
  settings: Settings,
  { assumesKeys, stop }: KeyChoice,
): Promise<Result<RemoteState, string>> {
  if (settings.fetch) return ok(await fetchRemote(wanted, settings, stop))
  if (!assumesKeys) return keysFromFiles(wanted, settings.jwks)
  return ok(
    new Map(wanted.map(({ id }) => [id, { document: { keys: [] }, fetchedAt: Date.now() }])),
  )
}

const fetchNotes = (wanted: readonly WantedDocument[], state: RemoteState): readonly string[] =>
  wanted.flatMap(({ id, targets }) => {
    const error = state.get(id)?.error
    return error === undefined ? [] : [`${targets[0]?.url ?? ''} was not fetched: ${error}`]
  })

/** files: values of --jwks. */
async function keysFromFiles(
  wanted: readonly WantedDocument[],
  files: readonly string[],
): Promise<Result<RemoteState, string>> {
  const state = new Map<string, RemoteDocument>()
  const given = files.map(splitUrl)
  const urls = wanted.map(({ targets }) => targets[0]?.url ?? '')
  for (const { url, file } of given) {
    if (url !== undefined && wanted.length > 0 && !urls.includes(url))
      return err(`--jwks ${url}: the decision reads no key set there; it reads ${urls.join(', ')}`)
    const document = await readKeySet(file)
    if (!document.ok) return document
    for (const [index, { id }] of wanted.entries()) {
      const isOwn = url !== undefined && urls[index] === url
      if (isOwn || (url === undefined && !state.has(id)))
        state.set(id, { document: document.value, fetchedAt: Date.now() })
    }
  }
  return ok(state)
}

interface KeyFile {
  /** Absent: for every key set. */
  readonly url?: string
  readonly file: string
}

function splitUrl(text: string): KeyFile {
  const [, url, file] = /^(https?:\/\/.*)=([^=]+)$/.exec(text) ?? []
  return url === undefined || file === undefined ? { file: text } : { url, file }
}

async function readKeySet(file: string): Promise<Result<JsonObject, string>> {
  try {
    const document = parseJson(await readFile(file))
    return isJsonObject(document) && Array.isArray(document['keys'])
      ? ok(document)
      : err(`--jwks ${file}: expected a JSON object with an array "keys"`)
  } catch (error) {
    return err(`--jwks ${file} cannot be read: ${errorText(error)}`)
  }
}
