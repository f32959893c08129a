// The tests of the official Gateway API conformance suite for the feature GatewayInfrastructure, which Gatehouse claims when
// it creates the Envoys.

import { afterAll, beforeAll, expect, it } from 'vitest'
import { ADDRESS } from '../../testing/api-server.js'
import { freePort } from '../../testing/ports.js'
import { API_GROUP } from '../support/resources.js'
import { expectNoFailure, runSuite } from './support/suite.js'
import { startSuiteCluster, type SuiteCluster } from './support/suite-cluster.js'

const CLASS = 'gatehouse'
const PARAMETERS = { group: API_GROUP, kind: 'ProxyParameters', name: 'envoys' }

let cluster: SuiteCluster
let passed = 0

beforeAll(async () => {
  const grpc = `${ADDRESS}:${String(await freePort())}`
  cluster = await startSuiteCluster({
    objects: [
      {
        apiVersion: `${API_GROUP}/v1alpha1`,
        kind: PARAMETERS.kind,
        metadata: { name: PARAMETERS.name },
        spec: { envoys: { image: 'envoy', serviceType: 'ClusterIP' } },
      },
      {
        apiVersion: 'gateway.networking.k8s.io/v1',
        kind: 'GatewayClass',
        metadata: { name: CLASS },
        spec: {
          controllerName: `${API_GROUP}/gatehouse`,
          parametersRef: { ...PARAMETERS, namespace: 'default' },
        },
      },
    ],
    replicaOptions: () => ({
      grpc,
      listenAddress: '0.0.0.0',
      flags: ['--provision', '--connect', grpc],
    }),
  })
})

afterAll(() => cluster.close(passed === 2))

it.each(['GatewayInfrastructureMetadata', 'GatewayInvalidParametersRef'])(
  'passes %s',
  async (name) => {
    const { kubeconfig, folder } = cluster
    const flags = ['-run-test', name]
    const run = await runSuite({ kubeconfig, gatewayClass: CLASS, folder, flags })
    expectNoFailure(run, folder)
    // The feature belongs to no profile, so the report does not count its tests.
    expect(run.ended.PASS).toEqual([name])
    passed += 1
  },
)
