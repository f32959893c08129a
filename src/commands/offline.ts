// Reads resource files and translates them once, without the network, for `check` and `translate`.

import { meshOf } from '../app/mesh.js'
import { relayKeys } from '../app/relay-keys.js'
import { createTranslator, type Translation } from '../gatewayapi/translator.js'
import { loadResources } from '../resources/files/load-resources.js'
import type { ProviderState } from '../resources/kinds/resources.js'
import type { Settings } from '../settings.js'

export interface Offline {
  readonly provider: ProviderState
  readonly translation: Translation
  /** Whether the Gateways belong to a mesh. */
  readonly isMesh?: boolean
}

export async function translateOffline(settings: Settings): Promise<Offline> {
  const { paths, apiGroup, clusterDomain } = settings
  const provider = await loadResources(paths, { apiGroup })
  const translator = createTranslator({
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
  const translation = translator.translate(provider.resources, new Map())
  return { provider, translation, isMesh: meshOf(settings).mesh !== undefined }
}
