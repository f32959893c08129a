// Golden test of exports: resources of a mesh with Gatehouse's policies → the manifests, or the reasons why there are
// none; and the parts of a static configuration for a user-configured Envoy.

import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { exportEnvoyGateway } from '../../src/addons/mesh/export/envoy-gateway/export.js'
import { exportIstio } from '../../src/addons/mesh/export/istio/export.js'
import { type ExportTargets, manifestText } from '../../src/addons/mesh/export/manifest.js'
import { collectResources } from '../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../src/control/schema/kinds/kinds.js'
import type { Resources } from '../../src/control/schema/kinds/resources.js'
import { decodeFile } from '../../src/control/sources/files/file-record.js'
import { createTranslator } from '../../src/control/translate/translator.js'
import type { Mesh } from '../../src/model/mesh-route.js'
import { bootstrapJson } from '../../src/xds/bootstrap/bootstrap.js'
import { fragmentOf } from '../../src/xds/bootstrap/fragment.js'
import { buildStaticConfig } from '../../src/xds/bootstrap/static-config.js'
import { expectGolden, goldenCases } from '../support/golden.js'
import { API_GROUP } from '../support/resources.js'
import { OPTIONS } from '../support/translate-case.js'

const TARGETS: ExportTargets = {
  gatehouse: { host: 'gatehouse.gatehouse.svc.cluster.local', port: 18_000 },
  closed: { host: '10.0.0.9', port: 18_009 },
}

/** Targets of the cases services-….yaml: hosts are known to be Services. */
const SERVICE = { service: { namespace: 'gatehouse', name: 'gatehouse' } }
const SERVICES: ExportTargets = {
  gatehouse: { ...TARGETS.gatehouse, ...SERVICE },
  closed: { host: TARGETS.gatehouse.host, port: 18_009, ...SERVICE },
}

function resourcesOf(text: string): Resources {
  const { resources, problems } = decodeFile(Buffer.from(text), 'case.yaml', kindsOf(API_GROUP))
  expect(problems).toEqual([])
  return collectResources(resources).resources
}

type ExportMesh = (
  routes: Parameters<typeof exportIstio>[0],
  known: Parameters<typeof exportIstio>[1],
  targets: Parameters<typeof exportIstio>[2] & ExportTargets,
) => ReturnType<typeof exportIstio>

const MESHES: Readonly<Record<Mesh, ExportMesh>> = {
  'envoy-gateway': (routes, _known, targets) => exportEnvoyGateway(routes, targets),
  istio: exportIstio,
}

describe.each(Object.entries(MESHES))('a mesh by %s', (mesh, exportMesh) => {
  for (const golden of goldenCases(join(import.meta.dirname, 'export', mesh)))
    test(golden.name, () => {
      const requirePolicy = golden.name.startsWith('required-')
      const translator = createTranslator({ ...OPTIONS, mesh: mesh as Mesh, requirePolicy })
      const resources = resourcesOf(golden.input)
      const translation = translator.translate(resources, new Map())
      const exported = exportMesh(translation.mesh ?? [], resources.httpRoutes, {
        ...(golden.name.startsWith('services-') ? SERVICES : TARGETS),
        ...(requirePolicy && { requirePolicy }),
        ...(golden.name.startsWith('custom-') && { customProvider: 'gatehouse' }),
        ...(golden.name.includes('tls-') && { serverName: 'gatehouse.example' }),
        ...(golden.name.startsWith('sealed-') && { newSeal: () => 'a-new-secret-for-this-namespace-' }),
      })
      const { authz, proc } = translation.ir
      expectGolden(golden, {
        ...(exported.ok
          ? {
              manifests: parseAllDocuments(manifestText(exported.value)).map(
                (document) => document.toJS() as object,
              ),
            }
          : { problems: exported.error }),
        tables: { authz: authz.map(({ key }) => key), proc: proc.map(({ key }) => key) },
      })
      expect(translation.ir.gateways).toEqual([])
    })
})

describe('an Envoy configured by hand', () => {
  for (const golden of goldenCases(join(import.meta.dirname, 'export/envoy')))
    test(golden.name, () => {
      const { ir } = createTranslator(OPTIONS).translate(resourcesOf(golden.input), new Map())
      const config = buildStaticConfig(ir, {
        xds: { listenAddress: '0.0.0.0', trustedHops: 0, systemCaFile: '/ca', accessLog: false },
        connection: { address: { type: 'tcp', ...TARGETS.gatehouse } },
        envoyAdmin: { type: 'tcp', host: '127.0.0.1', port: 19_000 },
        certificates: 'inline',
      })
      expectGolden(golden, fragmentOf(bootstrapJson(config)))
    })
})
