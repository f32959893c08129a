// Explains requests with the configuration in force, for the admin server.

import type { ExplainSource } from '../../admin/explain-page.js'
import { explain, type ExplainModel } from '../../explain/explain.js'
import { readExplainRequest } from '../../explain/explain-request.js'
import { explanationText } from '../../explain/explanation-text.js'
import { readDescription } from '../../explain/read-description.js'
import { err, ok } from '../../result.js'
import type { Settings } from '../../settings.js'
import type { Publisher } from '../../snapshot/publisher.js'
import { meshOf } from '../pipeline/mesh.js'
import type { Pipeline } from '../pipeline/pipeline.js'
import type { KeySets } from '../servers/services.js'

/** The running parts that an explanation reads. */
export interface ExplainerParts {
  readonly settings: Settings
  readonly pipeline: Pick<Pipeline, 'state'>
  readonly publisher: Pick<Publisher, 'current'>
  readonly keySets: KeySets
  readonly now: () => number
}

/** Returns a function that explains a described request. */
export const createExplainer =
  ({ settings, pipeline, publisher, keySets, now }: ExplainerParts): ExplainSource =>
  async (text) => {
    const described = readDescription(text)
    if (!described.ok) return described
    const request = readExplainRequest(described.value)
    if (!request.ok) return request
    const snapshot = publisher.current()
    const { provider, translation } = pipeline.state()
    if (snapshot === undefined || provider === undefined || translation === undefined)
      return err('no configuration is in force yet')
    const model: ExplainModel = {
      ...keySets,
      now,
      // Read at each use: a check may cause keys to be fetched.
      get ir() {
        return publisher.current()?.ir ?? snapshot.ir
      },
      statuses: translation.statuses,
      resources: provider.resources,
      ...{ trustedHops: settings.trustedHops, maxBodyBytes: settings.maxBodyBytes },
      ruleBudget: { steps: settings.ruleSteps, bytes: settings.ruleBytes },
      isOffline: false,
      isMesh: meshOf(settings).mesh !== undefined,
    }
    const explanation = await explain(model, request.value)
    return ok({ json: explanation, text: explanationText(explanation) })
  }
