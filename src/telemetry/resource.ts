// Describes this process to a collector, as the sender of spans, lines and metrics.

import { randomUUID } from 'node:crypto'
import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources'

/** worker: number of the worker; absent: the main process. Variables of OpenTelemetry override all but the worker. */
export function createResource(version: string, worker: number | undefined): Resource {
  const given = detectResources({
    detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector],
  })
  const own = resourceFromAttributes({
    'service.name': 'gatehouse',
    'service.version': version,
    'service.instance.id': randomUUID(),
  })
  const all = defaultResource().merge(own).merge(given)
  if (worker === undefined) return all
  const named = given.attributes['service.instance.id']
  const instance = typeof named === 'string' ? named : randomUUID()
  return all.merge(
    resourceFromAttributes({
      'service.instance.id': `${instance}-worker-${String(worker)}`,
      'gatehouse.worker': worker,
    }),
  )
}
