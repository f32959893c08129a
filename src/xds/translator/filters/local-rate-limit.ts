// Builds the local rate limit filter, with which Envoy itself counts requests and which is off by default, and its
// configuration per route.

import { create } from '@bufbuild/protobuf'
import type { Any } from '@bufbuild/protobuf/wkt'
import { CLAIMS_NAMESPACE, LIMIT_KEYS_KEY, limitName } from '../../../model/names.js'
import type { Limits, LocalLimit } from '../../../model/route.js'
import { HeaderValueOption_HeaderAppendAction as AppendAction } from '../../../wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  type RateLimit,
  RateLimit_Action_MetaData_Source as Source,
  RateLimitSchema,
} from '../../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import {
  type LocalRateLimitDescriptor as Descriptor,
  LocalRateLimitDescriptorSchema as DescriptorSchema,
} from '../../../wire/grpc/generated/envoy/extensions/common/ratelimit/v3/ratelimit_pb.js'
import { LocalRateLimitSchema } from '../../../wire/grpc/generated/envoy/extensions/filters/http/local_ratelimit/v3/local_rate_limit_pb.js'
import {
  type HttpFilter,
  HttpFilterSchema,
} from '../../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import type { TokenBucketSchema } from '../../../wire/grpc/generated/envoy/type/v3/token_bucket_pb.js'
import { durationOf, type FieldsOf, packed, typedConfig } from '../messages.js'
import type { FilterDefinition } from './filter.js'

/** Applies traffic.rateLimit. */
const LOCAL_RATE_LIMIT_FILTER = 'envoy.filters.http.local_ratelimit'

/** Counts what traffic.rateLimit of policies of mode Audit would limit. */
const LIMIT_AUDIT_FILTER = 'gatehouse.limit_audit'

const STAT_PREFIX = 'gatehouse'
const AUDIT_STAT_PREFIX = 'gatehouse_audit'

/** envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit: disabled for routes that do not configure it. */
const buildLocalRateLimitFilter = (): HttpFilter =>
  create(HttpFilterSchema, {
    name: LOCAL_RATE_LIMIT_FILTER,
    disabled: true,
    configType: typedConfig(LocalRateLimitSchema, { statPrefix: STAT_PREFIX }),
  })

/** The same for policies of mode Audit, in addition to the limits in force. */
const buildLimitAuditFilter = (): HttpFilter =>
  create(HttpFilterSchema, {
    name: LIMIT_AUDIT_FILTER,
    disabled: true,
    configType: typedConfig(LocalRateLimitSchema, { statPrefix: AUDIT_STAT_PREFIX }),
  })

const ALWAYS = { defaultValue: { numerator: 100 } }
const NEVER = { defaultValue: { numerator: 0 } }

/** The value of a key that a request lacks. ext_authz sends hashes, which never equal this. */
const SHARED = 'shared'

/**
 * LocalRateLimit of one route. A bucket that was evicted is full when it returns, so the route's own bucket bounds all
 * keys of a limit together: it has room for as many buckets as are kept.
 */
const buildLocalRateLimit = (limits: Limits): Any => packed(LocalRateLimitSchema, fieldsOf(limits))

/** Returns limits that Envoy counts in its statistics, and that limit nothing. */
const buildLimitAudit = (limits: Limits): Any =>
  packed(LocalRateLimitSchema, {
    ...fieldsOf(limits),
    statPrefix: AUDIT_STAT_PREFIX,
    filterEnforced: NEVER,
  })

function fieldsOf(limits: Limits): FieldsOf<typeof LocalRateLimitSchema> {
  const whole = slowestWithKeys(limits)
  return {
    statPrefix: STAT_PREFIX,
    filterEnabled: ALWAYS,
    filterEnforced: ALWAYS,
    tokenBucket: whole === undefined ? UNUSED : bucketOf(whole, limits.maxBuckets),
    alwaysConsumeDefaultTokenBucket: whole !== undefined,
    maxDynamicDescriptors: limits.maxBuckets,
    rateLimits: limits.local.map(countedBy),
    descriptors: limits.local.flatMap(descriptorsOf),
    responseHeadersToAdd: [
      {
        header: { key: 'retry-after', value: String(retryAfterSeconds(limits)) },
        appendAction: AppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
      },
    ],
  }
}

const rateOf = ({ requests, perMs }: LocalLimit): number => requests / perMs

function slowestWithKeys({ local }: Limits): LocalLimit | undefined {
  const [slowest] = local.filter(({ isKeyed }) => isKeyed).sort((a, b) => rateOf(a) - rateOf(b))
  return slowest
}

/** The default bucket, which Envoy requires although every request counts in a bucket of its limit. */
const UNUSED: FieldsOf<typeof TokenBucketSchema> = {
  maxTokens: 1,
  tokensPerFill: 1,
  fillInterval: durationOf(1000),
}

const MAX_UINT32 = 4_294_967_295

/** Returns a bucket as large as the given number of buckets. */
const bucketOf = (
  { requests, perMs, burst }: LocalLimit,
  times = 1,
): FieldsOf<typeof TokenBucketSchema> => ({
  maxTokens: Math.min(burst * times, MAX_UINT32),
  tokensPerFill: Math.min(requests * times, MAX_UINT32),
  fillInterval: durationOf(perMs),
})

/** Returns the seconds until every bucket has room for a request again; buckets fill evenly. */
const retryAfterSeconds = ({ local }: Limits): number =>
  Math.max(...local.map(({ requests, perMs }) => Math.ceil(perMs / requests / 1000)))

function countedBy({ isKeyed }: LocalLimit, index: number): RateLimit {
  const name = limitName(index)
  return create(RateLimitSchema, {
    actions: [
      {
        actionSpecifier: isKeyed
          ? {
              case: 'metadata',
              value: {
                descriptorKey: name,
                metadataKey: {
                  key: CLAIMS_NAMESPACE,
                  path: [LIMIT_KEYS_KEY, name].map((key) => ({
                    segment: { case: 'key' as const, value: key },
                  })),
                },
                defaultValue: SHARED,
                source: Source.DYNAMIC,
              },
            }
          : { case: 'genericKey', value: { descriptorKey: name, descriptorValue: SHARED } },
      },
    ],
  })
}

/**
 * Returns the descriptors of a limit. A named value has a permanent bucket; the empty one stands for all other values,
 * of which Envoy keeps the most recent.
 */
function descriptorsOf(limit: LocalLimit, index: number): Descriptor[] {
  const values = limit.isKeyed ? [SHARED, ''] : [SHARED]
  return values.map((value) =>
    create(DescriptorSchema, {
      entries: [{ key: limitName(index), value }],
      tokenBucket: bucketOf(limit),
    }),
  )
}

/** The limits in force. */
export const localRateLimitFilter: FilterDefinition = {
  name: LOCAL_RATE_LIMIT_FILTER,
  listener: buildLocalRateLimitFilter,
  route: ({ limits }) => limits && buildLocalRateLimit(limits),
}

/** The limits of policies of mode Audit. */
export const limitAuditFilter: FilterDefinition = {
  name: LIMIT_AUDIT_FILTER,
  listener: buildLimitAuditFilter,
  route: ({ limitsAudit }) => limitsAudit && buildLimitAudit(limitsAudit),
}
