// The Envoy runtime settings of every configuration that Gatehouse writes.

import { create } from '@bufbuild/protobuf'
import { LayeredRuntimeSchema } from '../../wire/grpc/generated/envoy/config/bootstrap/v3/bootstrap_pb.js'

/**
 * envoy.config.bootstrap.v3.LayeredRuntime. Envoy's default limit of 100 instructions rejects patterns as simple as
 * [0-9a-f]{64}, and with one of them the whole route configuration; the length of patterns is checked earlier. The
 * admin layer is Envoy's default.
 */
export const LAYERED_RUNTIME = create(LayeredRuntimeSchema, {
  layers: [
    {
      name: 'gatehouse',
      layerSpecifier: {
        case: 'staticLayer',
        value: {
          're2.max_program_size.error_level': 10_000,
          're2.max_program_size.warn_level': 10_000,
        },
      },
    },
    { name: 'admin', layerSpecifier: { case: 'adminLayer', value: {} } },
  ],
})
