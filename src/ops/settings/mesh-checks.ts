// Checks of flags for use beside a mesh that involve more than one of them.

import type { FlagValues } from './flags.js'

/** Returns what is wrong with the flags that serve and translate take. */
export function meshChecks({
  for: mesh,
  sealed,
  customProvider,
  connectTls,
  provision,
}: FlagValues): readonly string[] {
  return [
    ...(sealed && (mesh === undefined || mesh === 'envoy')
      ? ['--sealed belongs to --for envoy-gateway or istio']
      : []),
    ...(customProvider !== undefined && mesh !== 'istio'
      ? ['--custom-provider belongs to --for istio']
      : []),
    ...(connectTls !== undefined && mesh !== 'envoy-gateway' && !provision
      ? ['--connect-tls belongs to --for envoy-gateway, or to --provision']
      : []),
  ]
}

/** Returns what is wrong with the flags of serve. Requires --for with --route-key: else route names of a mesh would match entries made for Gatehouse's own routes. */
export function servedMeshChecks(flags: FlagValues): readonly string[] {
  const { for: mesh, routeKey, connect, kubernetes, provision } = flags
  if (mesh === 'envoy')
    return ['--for envoy belongs to translate: serve answers such an Envoy without it']
  const isController = kubernetes && mesh !== undefined
  if (connect !== undefined && !isController && !provision)
    return ['--connect belongs to --kubernetes with --for envoy-gateway or istio, or --provision']
  const problem = isController ? controllerProblem(flags) : undefined
  if (problem !== undefined) return [problem]
  return routeKey !== undefined && mesh !== routeKey
    ? [`--route-key ${routeKey} belongs to --for ${routeKey}`]
    : []
}

/** Returns the first problem of the flags of a mesh's controller. */
function controllerProblem({
  for: mesh,
  routeKey,
  connect,
  customProvider,
}: FlagValues): string | undefined {
  if (connect === undefined)
    return '--connect is missing; expected where the Envoys of the mesh reach Gatehouse'
  if (mesh === 'envoy-gateway' && routeKey === undefined)
    return '--for envoy-gateway with --kubernetes needs --route-key envoy-gateway'
  return customProvider === undefined
    ? undefined
    : '--custom-provider belongs to --for istio without --kubernetes'
}
