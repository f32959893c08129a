// Reads resource files and translates them once, without a running Gatehouse, for `check`, `translate` and `explain`.

import { meshOf } from '../../control/publish/mesh.js'
import { type LoadedState, loadResources } from '../../control/sources/files/load-resources.js'
import {
  createTranslator,
  type Translation,
  type Translator,
} from '../../control/translate/translator.js'
import type { RemoteState, WantedDocument } from '../../model/remote-target.js'
import type { Settings } from '../../ops/settings/settings.js'
import { relayKeys } from '../app/relay-keys.js'

/** Resource files and their translation. */
export interface Offline {
  readonly provider: LoadedState
  readonly translation: Translation
  /** The policies that want each document, by WantedDocument.id. */
  readonly wantedBy: ReturnType<Translator['wantedBy']>
  /** Whether the Gateways belong to a mesh. */
  readonly isMesh?: boolean
  /** Whether the documents of identity providers were asked for. */
  readonly isFetched?: boolean
}

/** Fetches the documents of identity providers once. */
export type FetchWanted = (wanted: readonly WantedDocument[]) => Promise<RemoteState>

/** fetchWanted: absent if the network is not used. */
export async function translateOffline(
  settings: Settings,
  fetchWanted?: FetchWanted,
): Promise<Offline> {
  const provider = await loadResources(settings.paths, { apiGroup: settings.apiGroup })
  const translator = offlineTranslator(settings)
  const first = translator.translate(provider.resources, new Map())
  const isFetched = fetchWanted !== undefined
  const translation = isFetched
    ? translator.translate(provider.resources, await fetchWanted(first.wanted))
    : first
  return {
    provider,
    translation,
    isFetched,
    isMesh: meshOf(settings).mesh !== undefined,
    wantedBy: translator.wantedBy(provider.resources.proxyPolicies),
  }
}

/** Creates the translator of a Gatehouse with these settings that reads files. */
export function offlineTranslator(settings: Settings): Translator {
  const { apiGroup, clusterDomain } = settings
  return createTranslator({
    apiGroup,
    clusterDomain,
    mcpBodyBytes: settings.mcpBodyBytes,
    requirePolicy: settings.requirePolicy,
    rateLimitBuckets: settings.rateLimitBuckets,
    metadataIssuer: settings.metadataIssuer === 'gateway' ? 'Gateway' : 'Provider',
    mcpProtocolVersion: settings.mcpProtocolVersion,
    ...relayKeys(settings),
    ...meshOf(settings),
  })
}
