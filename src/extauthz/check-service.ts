// The gRPC service envoy.service.auth.v3.Authorization, over raw bytes: decoding and encoding are part of the check, so
// their failures are answered too.

import { Authorization } from '../grpc/generated/envoy/service/auth/v3/external_auth_pb.js'
import type { GrpcService } from '../grpc/service.js'
import { createCheck } from './check.js'
import type { CheckOptions } from './check-context.js'

export const createCheckService = (options: CheckOptions): GrpcService => ({
  name: Authorization.typeName,
  methods: { Check: { type: 'unary', handle: createCheck(options) } },
})
