
#include <eml_net.h>
static const float mynet_layer_0_biases[16] = { 0.439434f, 0.467319f, -0.222218f, 0.425149f, -0.512503f, 0.183948f, 0.193038f, -0.052019f, -0.103316f, 0.390449f, 0.073974f, 0.076384f, -0.064811f, 0.211950f, -0.182913f, -0.497380f };
static const float mynet_layer_0_weights[96] = { -0.250706f, 0.091531f, 0.297970f, 0.325025f, 0.247004f, 0.110466f, -0.106678f, -0.327672f, -0.308415f, -0.004270f, 0.076078f, 0.499318f, -0.079119f, -0.541871f, 0.031280f, 0.114153f, -0.672637f, -0.324785f, 0.339932f, -0.706463f, 0.304059f, 0.789442f, -0.222709f, 0.177376f, 0.277295f, -0.308577f, -0.288878f, 0.141057f, 0.653189f, 0.298523f, -0.182502f, -0.012034f, -0.134100f, 0.060679f, -0.290848f, 0.461725f, 0.284907f, -0.436196f, 0.176544f, -0.080179f, -0.016833f, -0.316659f, 0.509019f, 0.071709f, -0.656567f, -0.081952f, -0.266734f, 0.457737f, -0.069958f, 0.185744f, -0.186866f, 0.317437f, 0.230681f, 0.014981f, -0.104210f, -0.423098f, -0.365138f, 0.023211f, 0.020956f, 0.257454f, 0.212397f, 0.049444f, -0.310695f, 0.011072f, -0.310670f, -0.423188f, 0.687351f, 0.520495f, 0.435015f, 0.213892f, 0.471867f, -0.437243f, -0.027923f, 0.011886f, 0.402977f, -0.043261f, -0.647218f, -0.362355f, -0.411154f, 0.000441f, -0.287673f, -0.278297f, 0.037704f, 0.683657f, 0.574882f, 0.182484f, 0.053794f, 0.091356f, 0.386843f, 0.560926f, 0.468956f, 0.289038f, -0.630903f, 0.609967f, -0.492793f, -0.479097f };
static const float mynet_layer_1_biases[3] = { -0.347513f, 0.534980f, 0.238513f };
static const float mynet_layer_1_weights[48] = { 0.299701f, -0.265573f, 0.362487f, 0.697125f, -0.777557f, -0.097105f, 0.079188f, -0.166092f, -0.631766f, 0.126281f, -0.735611f, 0.668585f, 0.685633f, -0.915100f, -0.106976f, 0.091201f, 0.837097f, -0.592719f, -0.361141f, 0.666007f, 0.253183f, -0.268204f, 0.110457f, 0.069944f, 0.378521f, -0.191905f, -0.026153f, 0.613265f, -0.239675f, -0.471171f, -0.883879f, -0.507229f, 0.775080f, -0.572478f, -0.413382f, -0.295332f, -1.050987f, -0.037166f, -0.067460f, 0.131591f, 0.479904f, -0.338857f, -0.260703f, -0.496019f, 0.299787f, 0.735234f, 0.410309f, -0.369804f };
static float mynet_buf1[16];
static float mynet_buf2[16];
static const EmlNetLayer mynet_layers[2] = { 
{ 16, 6, mynet_layer_0_weights, mynet_layer_0_biases, EmlNetActivationRelu }, 
{ 3, 16, mynet_layer_1_weights, mynet_layer_1_biases, EmlNetActivationSoftmax } };
static EmlNet mynet = { 2, mynet_layers, mynet_buf1, mynet_buf2, 16 };

    int32_t
    mynet_predict(const float *features, int32_t n_features)
    {
        return eml_net_predict(&mynet, features, n_features);
    }
    

    int32_t
    mynet_regress(const float *features, int32_t n_features, float *out, int32_t out_length)
    {
        return eml_net_regress(&mynet, features, n_features, out, out_length);
    }
    

    float
    mynet_regress1(const float *features, int32_t n_features)
    {
        return eml_net_regress1(&mynet, features, n_features);
    }
    