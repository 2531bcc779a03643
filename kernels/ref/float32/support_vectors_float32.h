/* SPDX-License-Identifier: 0BSD */
#include <math.h>
#include <stdint.h>
#include "dot_float32.h"
#include "trees/scores.h"

/* x * vector; p: {gamma, coef0, degree}. */
static inline float aidge_ref_svm_linear_float32(const float *x, const float *vector, int32_t features, const float *p)
{
    (void)p;
    return aidge_ref_dot_float32(x, vector, features);
}

/* (gamma * x * vector + coef0)^2; p: {gamma, coef0, degree}. */
static inline float aidge_ref_svm_square_float32(const float *x, const float *vector, int32_t features, const float *p)
{
    const float inner = p[0] * aidge_ref_dot_float32(x, vector, features) + p[1];
    return inner * inner;
}

/* (gamma * x * vector + coef0)^3; p: {gamma, coef0, degree}. */
static inline float aidge_ref_svm_cube_float32(const float *x, const float *vector, int32_t features, const float *p)
{
    const float inner = p[0] * aidge_ref_dot_float32(x, vector, features) + p[1];
    return inner * inner * inner;
}

/* (gamma * x * vector + coef0)^degree; p: {gamma, coef0, degree}. */
static inline float aidge_ref_svm_power_float32(const float *x, const float *vector, int32_t features, const float *p)
{
    return powf(p[0] * aidge_ref_dot_float32(x, vector, features) + p[1], p[2]);
}

/* tanh(gamma * x * vector + coef0); p: {gamma, coef0, degree}. */
static inline float aidge_ref_svm_sigmoid_float32(const float *x, const float *vector, int32_t features, const float *p)
{
    return tanhf(p[0] * aidge_ref_dot_float32(x, vector, features) + p[1]);
}

/* e^(-gamma * |x - vector|^2); p: {gamma, coef0, degree}. */
static inline float aidge_ref_svm_rbf_float32(const float *x, const float *vector, int32_t features, const float *p)
{
    float sum = 0.0f;
    int32_t i;
    for (i = 0; i < features; i++) {
        const float difference = x[i] - vector[i];
        sum += difference * difference;
    }
    return expf(-p[0] * sum);
}

/* The class with the most votes; a decision for each pair of classes, positive for the first. */
static inline int32_t aidge_ref_svm_winner_float32(const float *decisions, int32_t classes)
{
    int32_t best = 0, most = -1, one, other;
    for (one = 0; one < classes; one++) {
        int32_t votes = 0;
        const float *decision = decisions;
        int32_t first;
        for (first = 0; first < classes - 1; first++) {
            for (other = first + 1; other < classes; other++) {
                const int32_t winner = *decision++ > 0.0f ? first : other;
                votes += winner == one ? 1 : 0;
            }
        }
        if (votes > most) {
            most = votes;
            best = one;
        }
    }
    return best;
}

/*
 * The probabilities of classes from decisions between pairs (Platt): numbers are prob_a and prob_b, one after the other.
 * Coupling: Wu, Lin and Weng, JMLR 5 (2004), second method. room: classes * (classes + 1) floats.
 */
static inline void aidge_ref_svm_probabilities_float32(const float *decisions, float *found, const float *prob_a,
                                                       const float *prob_b, float *room, int32_t classes)
{
    float *matrix = room;
    float *products = room + classes * classes;
    int32_t i, j, round;
    for (i = 0; i < classes; i++) {
        matrix[i * classes + i] = 0.0f;
        found[i] = 1.0f / (float)classes;
    }
    for (i = 0; i < classes - 1; i++) {
        for (j = i + 1; j < classes; j++) {
            float p = 1.0f - aidge_ref_score_logistic(*decisions++ * *prob_a++ + *prob_b++);
            float q;
            p = p > 1e-7f ? p : 1e-7f;
            p = p < 1.0f - 1e-7f ? p : 1.0f - 1e-7f;
            q = 1.0f - p;
            matrix[i * classes + i] += q * q;
            matrix[j * classes + j] += p * p;
            matrix[i * classes + j] = -q * p;
            matrix[j * classes + i] = -q * p;
        }
    }
    for (round = 0; round < 100; round++) {
        float whole = 0.0f, error = 0.0f;
        for (i = 0; i < classes; i++) {
            products[i] = aidge_ref_dot_float32(matrix + i * classes, found, classes);
            whole += found[i] * products[i];
        }
        for (i = 0; i < classes; i++) {
            const float difference = fabsf(products[i] - whole);
            error = difference > error ? difference : error;
        }
        if (error < 0.005f / (float)classes) {
            break;
        }
        for (i = 0; i < classes; i++) {
            const float *row = matrix + i * classes;
            const float step = (whole - products[i]) / row[i];
            found[i] += step;
            whole = (whole + step * (step * row[i] + 2.0f * products[i])) / (1.0f + step) / (1.0f + step);
            for (j = 0; j < classes; j++) {
                products[j] = (products[j] + step * row[j]) / (1.0f + step);
                found[j] /= 1.0f + step;
            }
        }
    }
}
