// Reads what clusters refer to, from the bytes to be sent: their endpoints and the certificates that they present.

import { anyUnpack } from '@bufbuild/protobuf/wkt'
import {
  type Cluster,
  Cluster_DiscoveryType,
  ClusterSchema,
} from '../../grpc/generated/envoy/config/cluster/v3/cluster_pb.js'
import { UpstreamTlsContextSchema } from '../../grpc/generated/envoy/extensions/transport_sockets/tls/v3/tls_pb.js'
import { type Chunk, concat, namedChunks } from '../../incremental/chunked-list.js'
import { memo, memoWork } from '../../incremental/memo.js'
import { mapEach, mapWork, type Work } from '../../turns.js'
import type { EncodedResource } from '../encode/encode.js'
import { decode } from '../encode/read.js'

/** What the clusters of a snapshot refer to. */
export interface ClusterFacts {
  /** Names of the clusters whose endpoints come over EDS. */
  readonly needy: readonly string[]
  /** Names of the certificates that clusters present. */
  readonly secrets: readonly string[]
}

/** Returns the facts about clusters, memoised by chunk. */
export function createClusterFacts(): (clusters: readonly EncodedResource[]) => Work<ClusterFacts> {
  const ofOne = memo((encoded: EncodedResource): ClusterFacts => {
    const cluster = decode(ClusterSchema, encoded)
    const isNeedy = cluster.clusterDiscoveryType.value === Cluster_DiscoveryType.EDS
    return { needy: isNeedy ? [encoded.name] : [], secrets: secretsOf(cluster) }
  })
  const ofChunk = memoWork(function* (chunk: Chunk<EncodedResource>): Work<ClusterFacts> {
    const facts = yield* mapEach(chunk, ofOne)
    return {
      needy: facts.flatMap(({ needy }) => needy),
      secrets: [...new Set(facts.flatMap(({ secrets }) => secrets))],
    }
  })
  return memoWork(function* (clusters: readonly EncodedResource[]) {
    const facts = yield* mapWork(namedChunks(clusters), ofChunk)
    return {
      needy: concat(facts.map(({ needy }) => needy)),
      secrets: concat(facts.map(({ secrets }) => secrets)),
    }
  })
}

function secretsOf({ transportSocket }: Cluster): readonly string[] {
  const tls = transportSocket?.configType.value
  const { commonTlsContext } = (tls && anyUnpack(tls, UpstreamTlsContextSchema)) ?? {}
  return (commonTlsContext?.tlsCertificateSdsSecretConfigs ?? []).map(({ name }) => name)
}
