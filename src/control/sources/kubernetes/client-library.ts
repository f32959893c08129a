// The parts of the official client that Gatehouse uses. The build bundles this file with them: the package's entry loads
// 800 modules, nearly all of them classes of APIs, which took half a second and 40 MB.

import type { KubernetesListObject, KubernetesObject } from '@kubernetes/client-node'
import { ListWatch } from '@kubernetes/client-node/dist/cache.js'
import { KubeConfig } from '@kubernetes/client-node/dist/config.js'
import { Watch } from '@kubernetes/client-node/dist/watch.js'
import type { WatchConfig } from './kept-connections.js'

/** Returns the configuration of KUBECONFIG, of the user's folder, or of the pod. Throws if a file cannot be read. */
export function loadConfig(): KubeConfig {
  const config = new KubeConfig()
  config.loadFromDefault()
  return config
}

/** Returns a watch that has not begun. */
export const createWatch = (config: WatchConfig): Watch => new Watch(config as KubeConfig)

/** What an informer lists and watches. */
export interface Listing {
  /** Where it watches first. */
  readonly path: string
  readonly watch: Pick<Watch, 'watch'>
  readonly list: () => Promise<KubernetesListObject<KubernetesObject>>
  readonly labelSelector: string | undefined
  readonly fieldSelector: string | undefined
}

/** Returns an informer that has not started. */
export const createInformer = (listing: Listing): ListWatch<KubernetesObject> =>
  new ListWatch<KubernetesObject>(
    listing.path,
    listing.watch as Watch,
    listing.list,
    false,
    listing.labelSelector,
    listing.fieldSelector,
  )
