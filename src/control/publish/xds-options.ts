// Options of Envoy's resources, from the settings.

import type { Settings } from '../../ops/settings/settings.js'
import type { XdsOptions } from '../../xds/translator/xds-resources.js'
import { ENVOY_CA_FILE } from '../fetch/system-ca-file.js'

/** Options of the xDS translation. ownEnvoy: whether Envoy is a child process, which reads this machine's caFile. */
export const xdsOptions = (
  { listenAddress, trustedHops, accessLog, otlp, traceSampling }: Settings,
  ownEnvoy: boolean,
  caFile: string,
): XdsOptions => ({
  listenAddress,
  trustedHops,
  systemCaFile: ownEnvoy ? caFile : ENVOY_CA_FILE,
  accessLog,
  ...(otlp !== undefined && { tracing: { otlp, sampling: traceSampling } }),
  // Several Envoys on a machine need `serve`; two `run`s on one port would each get some of its requests.
  exclusivePorts: ownEnvoy,
})
