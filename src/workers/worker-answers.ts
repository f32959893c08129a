// In the main process: answers what workers ask, because one process asks key sets and the API server for all of them.

import type { Authenticator } from '../grpc/authenticated.js'
import type { Peer } from '../grpc/peer.js'
import { GrpcError, Status } from '../grpc/status.js'
import { ENVOY_TOKEN_HEADER } from '../ir/names.js'
import type { Admission, QuestionToMain, RefetchedKeySet, ToWorker } from './messages.js'

/** Knows Envoys by their tokens. */
export interface WorkerTokens extends Authenticator {
  /** Returns the only Gateway that the peer serves; undefined: a peer with other rights. */
  gatewayOf(peer: Peer): string | undefined
}

/** What the answers come from. */
export interface WorkerAnswersDeps {
  /** Fetches a key set. Resolves when the result is in the tables. */
  refetchKeySet(id: string): Promise<RefetchedKeySet>
  /** Absent: no client needs a token, and no worker asks. */
  readonly tokens?: WorkerTokens | undefined
}

/** Returns the answer to a question of a worker. */
export async function answerTo(
  question: QuestionToMain,
  deps: WorkerAnswersDeps,
): Promise<ToWorker> {
  const { call } = question
  if (question.type === 'admit')
    return { type: 'admission', call, admission: await admissionOf(question, deps.tokens) }
  const keySet = await deps.refetchKeySet(question.id).catch(() => ({
    ...{ isAnswered: false, isOlder: false, answers: 0 },
  }))
  return { type: 'refetched', call, keySet }
}

async function admissionOf(
  { peer, tokens: values }: Extract<QuestionToMain, { readonly type: 'admit' }>,
  tokens: WorkerTokens | undefined,
): Promise<Admission> {
  try {
    if (tokens === undefined) throw new GrpcError(Status.UNAVAILABLE, 'no tokens are known')
    await tokens.admit({
      peer,
      deadline: Infinity,
      isCancelled: () => false,
      metadata: (name) => (name === ENVOY_TOKEN_HEADER ? values : []),
    })
    return { gateway: tokens.gatewayOf(peer) }
  } catch (error) {
    const { status, message } =
      error instanceof GrpcError ? error : new GrpcError(Status.UNKNOWN, 'the call failed')
    return { refusal: { status, details: message } }
  }
}
