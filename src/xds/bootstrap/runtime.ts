// What we set of Envoy's runtime, in every configuration of an Envoy that we write.

import { create } from '@bufbuild/protobuf'
import { LayeredRuntimeSchema } from '../../grpc/generated/envoy/config/bootstrap/v3/bootstrap_pb.js'

/**
 * envoy.config.bootstrap.v3.LayeredRuntime. Envoy's own limit of 100 instructions refuses patterns as plain as
 * [0-9a-f]{64}, and with one of them the whole route configuration; how long patterns may be is checked before.
 * The admin layer is what Envoy has without any of this.
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
